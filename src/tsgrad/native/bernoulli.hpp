// Bernoulli arms: rewards, beliefs, the reshaped beta law and its score. The formulas are those of
// tsgrad/problems/bernoulli.py, tsgrad/problems/gamma.py and tsgrad/policies/reshaped_bernoulli.py.

#pragma once

#include "gaussian.hpp"

namespace tsgrad {

// exp x = 2^n exp(r) with |r| <= log(2) / 2, by its series; x is clamped to where the result is a normal number.
template <class Real>
TSGRAD_INLINE Real exponential(Real x) {
  using Integer = typename Bits<Real>::Integer;
  constexpr Real limit = Real(Bits<Real>::kBias - 2) * Real(0.69314718055994530942);
  x = x < -limit ? -limit : x > limit ? limit : x;
  constexpr Real high = Real(0x1.62e4p-1), low = Real(0.69314718055994530942 - 0x1.62e4p-1);
  const Real scaled = x * Real(1.44269504088896340736);
  const std::int32_t n = static_cast<std::int32_t>(scaled + (scaled < 0 ? Real(-0.5) : Real(0.5)));
  const Real rest = (x - Real(n) * high) - Real(n) * low;
  Real series = 1;
  for (int k = Bits<Real>::kExpTerms; k >= 1; --k) series = 1 + series * rest * (Real(1) / k);
  return series * bit_cast<Real>(Integer((Integer(n) + Bits<Real>::kBias) << Bits<Real>::kMantissa));
}

// log(1 + x): the logarithm of the rounded sum, corrected for what rounding lost.
template <class Real>
TSGRAD_INLINE Real logarithm_1p(Real x) {
  const Real sum = 1 + x, lost = x - (sum - 1);
  return logarithm(sum) + lost / sum;
}

// log of 1 / (1 + exp(-x))
template <class Real>
TSGRAD_INLINE Real log_sigmoid(Real x) {
  const Real tail = logarithm_1p(exponential(x < 0 ? x : -x));
  return (x < 0 ? x : Real(0)) - tail;
}

// log x - digamma(x), by its asymptotic series, for x >= 8.
template <class Real>
TSGRAD_INLINE Real digamma_tail(Real x) {
  const Real inverse = 1 / x, square = inverse * inverse;
  Real series = Real(1.0 / 12);
  series = Real(-691.0 / 32760) + series * square;
  series = Real(1.0 / 132) + series * square;
  series = Real(-1.0 / 240) + series * square;
  series = Real(1.0 / 252) + series * square;
  series = Real(-1.0 / 120) + series * square;
  series = Real(1.0 / 12) + series * square;
  return inverse / 2 + series * square;
}

// digamma(x + y) - digamma(x), without the cancellation that float32 can't afford where x is large: both arguments are
// raised by the recurrence until x >= 8, then their logarithms are subtracted as one.
template <class Real>
TSGRAD_INLINE Real digamma_gap(Real x, Real y) {
  Real sum = 0;
  for (int n = 0; n < 8; ++n) {
    const bool small = x < 8;
    sum += small ? 1 / x - 1 / (x + y) : Real(0);
    x = small ? x + 1 : x;
  }
  return logarithm_1p(y / x) + digamma_tail(x) - digamma_tail(x + y) + sum;
}

template <class RealType>
class Bernoulli {
 public:
  using Real = RealType;
  static constexpr int kMeta = 4;  // log_alpha, log_beta, log_evidence_weight, decay
  static constexpr double kBound = 8;
  static constexpr int kMostAttempts = 24;

  explicit Bernoulli(const FamilyInput& input) : arms(input.arms), horizon(input.horizon) {
    for (int k = 0; k < arms; ++k)
      prior_alpha_.push_back(Real(input.problem[k])), prior_beta_.push_back(Real(input.problem[arms + k]));
    for (int t = 1; t <= horizon; ++t) {
      log_left_.push_back(Real(std::log(double(horizon - t + 1) / horizon)));
      for (int k = 0; k < arms; ++k) {
        const double concentration = -input.policy[3 * arms + k] * std::log(double(horizon - t + 1) / horizon);
        for (int c = 0; c < 3; ++c) {
          const double start = c < 2 ? std::log(input.problem[c * arms + k]) : 0;
          const Bounded count(input.policy[c * arms + k] + concentration, start, kBound);
          counts_.push_back(Real(count.value)), moves_.push_back(Real(count.moves));
        }
      }
    }
  }

  // Nothing of a beta law is worth keeping: it changes at every step.
  struct Cache {
    explicit Cache(int) {}
  };

  void draw_world(const Keys& keys, Real* theta) const {
    Lanes<Real> alpha, beta, log_value, log_complement;
    for (int k = 0; k < arms; ++k) {
      alpha.fill(prior_alpha_[k]), beta.fill(prior_beta_[k]);
      draw_beta(keys, 0, k, alpha, beta, log_value, log_complement);
      TSGRAD_EACH_LANE theta[k * kLanes + l] = exponential(log_value[l]);
    }
  }

  void rewards(const Keys& keys, int t, const Arms<Real>& arm, const Lanes<Real>& mean, Lanes<Real>& reward) const {
    TSGRAD_EACH_LANE
      reward[l] = uniform_at<Real>(keys[l], t, static_cast<std::uint32_t>(arm[l])) < mean[l] ? Real(1) : Real(0);
  }

  Real posterior_mean(int k, Real pulls, Real total) const {
    const Real alpha = prior_alpha_[k] + total, beta = prior_beta_[k] + (pulls - total);
    return alpha / (alpha + beta);
  }

  // What an index depends on, as in tsgrad/policies/index.py.
  static std::size_t cell(Real pulls, Real total) {
    const std::size_t count = static_cast<std::size_t>(pulls);
    return count * (count + 1) / 2 + static_cast<std::size_t>(total);
  }

  void start(Cache&) const {}
  void renew(Cache&, const Arms<Real>&, const Lanes<Real>&, const Lanes<Real>&) const {}

  template <bool Score, bool Keep, bool Factor>
  void draw(const Cache&, const Keys& keys, const Real* pulls, const Real* total, int t, const Lanes<Real>& factor,
            Real* scores, Arms<Real>& arm) const {
    using Integer = typename Bits<Real>::Integer;
    Lanes<Real> best, alpha, beta, log_value, log_complement;
    const std::size_t size = static_cast<std::size_t>(arms) * kLanes;
    for (int k = 0; k < arms; ++k) {
      const Real* const count = counts_.data() + 3 * ((t - 1) * arms + k);
      const Real* const moving = moves_.data() + 3 * ((t - 1) * arms + k);
      const Real* const tries = pulls + k * kLanes;
      const Real* const successes = total + k * kLanes;
      TSGRAD_EACH_LANE {
        alpha[l] = count[0] + count[2] * successes[l];
        beta[l] = count[1] + count[2] * (tries[l] - successes[l]);
      }
      draw_beta(keys, t, k, alpha, beta, log_value, log_complement);
      TSGRAD_EACH_LANE {
        const Real value = exponential(log_value[l]);
        const bool better = k == 0 || value > best[l];
        best[l] = better ? value : best[l];
        arm[l] = better ? Integer(k) : arm[l];
      }
      if constexpr (Score) {
        Real* const of_alpha = scores + k * kLanes;
        Real* const of_beta = of_alpha + size;
        Real* const of_weight = of_beta + size;
        Real* const of_decay = of_weight + size;
        TSGRAD_EACH_LANE {
          const Real alpha_slope = log_value[l] + digamma_gap(alpha[l], beta[l]);
          const Real beta_slope = log_complement[l] + digamma_gap(beta[l], alpha[l]);
          const Real by_alpha = moving[0] * count[0] * alpha_slope, by_beta = moving[1] * count[1] * beta_slope;
          const Real by_weight = moving[2] * count[2] *
                                 (successes[l] * alpha_slope + (tries[l] - successes[l]) * beta_slope);
          const Real scale = Factor ? factor[l] : Real(1);
          of_alpha[l] = (Keep ? of_alpha[l] : 0) + scale * by_alpha;
          of_beta[l] = (Keep ? of_beta[l] : 0) + scale * by_beta;
          of_weight[l] = (Keep ? of_weight[l] : 0) + scale * by_weight;
          of_decay[l] = (Keep ? of_decay[l] : 0) - scale * (log_left_[t - 1] * (by_alpha + by_beta + by_weight));
        }
      }
    }
  }

  const int arms, horizon;

 private:
  struct GammaParts {
    Lanes<Real> d, rest;  // a Gamma draw is d exp(rest)
  };

  void draw_gamma(const Keys& keys, int t, std::uint32_t slot, const Lanes<Real>& shape, GammaParts& parts) const {
    Lanes<Real> c, log_cube;
    Lanes<std::int32_t> accepted;
    bool small = false;
    TSGRAD_EACH_LANE {
      parts.d[l] = (shape[l] < 1 ? shape[l] + 1 : shape[l]) - Real(1.0 / 3);
      c[l] = 1 / std::sqrt(9 * parts.d[l]);
      log_cube[l] = 0, accepted[l] = 0;
      small |= shape[l] < 1;
    }
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
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
        const Real boost = logarithm(uniform_at<Real>(threefry(keys[l], kMostAttempts, 0), t, slot)) / shape[l];
        parts.rest[l] += shape[l] < 1 ? boost : Real(0);
      }
  }

  void draw_beta(const Keys& keys, int t, int k, const Lanes<Real>& alpha, const Lanes<Real>& beta,
                 Lanes<Real>& log_value, Lanes<Real>& log_complement) const {
    GammaParts first, second;
    draw_gamma(keys, t, k, alpha, first);
    draw_gamma(keys, t, arms + k, beta, second);
    TSGRAD_EACH_LANE {
      const Real logit = logarithm(first.d[l] / second.d[l]) + (first.rest[l] - second.rest[l]);
      log_value[l] = log_sigmoid(logit), log_complement[l] = log_sigmoid(-logit);
    }
  }

  std::vector<Real> prior_alpha_, prior_beta_;  // [K], the problem
  std::vector<Real> log_left_;                  // [T]
  std::vector<Real> counts_, moves_;            // [T][K][alpha, beta, weight], the policy over time
};

}  // namespace tsgrad
