// Draws from gamma and beta laws, by rejection with the attempt in the address: tsgrad/laws/gamma.py and beta.py.

#pragma once

#include "lanes.hpp"
#include "special.hpp"

namespace tsgrad {

constexpr int kMostGammaAttempts = 24;

// A gamma draw: d exp(rest).
template <class Real>
struct GammaParts {
  Lanes<Real> d, rest;
};

template <class Real>
void draw_gamma(const Keys& keys, int t, std::uint32_t slot, const Lanes<Real>& shape, GammaParts<Real>& parts) {
  Lanes<Real> c, log_cube;
  Lanes<std::int32_t> accepted;
  bool small = false;
  TSGRAD_EACH_LANE {
    parts.d[l] = (shape[l] < 1 ? shape[l] + 1 : shape[l]) - Real(1.0 / 3);
    c[l] = 1 / std::sqrt(9 * parts.d[l]);
    log_cube[l] = 0, accepted[l] = 0;
    small |= shape[l] < 1;
  }
  for (int attempt = 0; attempt < kMostGammaAttempts; ++attempt) {
    int missing = 0;
    TSGRAD_EACH_LANE {
      const Real z = normal<Real>(threefry(keys[l], attempt, 0), t, slot);
      const Real u = uniform_at<Real>(threefry(keys[l], attempt, 1), t, slot);
      const Real w = c[l] * z;
      const bool positive = w > -1;
      const Real cube = 3 * logarithm_1p(positive ? w : Real(0));
      const Real bound = z * z / 2 + parts.d[l] * (cube - 3 * w - 3 * (w * w) - w * w * w);
      const bool taken = positive && logarithm(u) < bound && !accepted[l];
      log_cube[l] = taken ? cube : log_cube[l];
      accepted[l] = accepted[l] | taken;
      missing += !accepted[l];
    }
    if (!missing) break;
  }
  TSGRAD_EACH_LANE parts.rest[l] = log_cube[l];
  if (small)
    TSGRAD_EACH_LANE {
      const Real boost = logarithm(uniform_at<Real>(threefry(keys[l], kMostGammaAttempts, 0), t, slot)) / shape[l];
      parts.rest[l] += shape[l] < 1 ? boost : Real(0);
    }
}

// The draw of arm k, as its logit: in float32 the draw itself rounds to one.
template <class Real>
void draw_logit(const Keys& keys, int t, int k, int arms, const Lanes<Real>& alpha, const Lanes<Real>& beta,
                Lanes<Real>& logit) {
  GammaParts<Real> first, second;
  draw_gamma(keys, t, k, alpha, first);
  draw_gamma(keys, t, arms + k, beta, second);
  TSGRAD_EACH_LANE logit[l] = logarithm(first.d[l] / second.d[l]) + (first.rest[l] - second.rest[l]);
}

}  // namespace tsgrad
