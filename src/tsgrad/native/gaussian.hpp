// Gaussian arms: rewards, beliefs, the reshaped law and its score. The formulas are those of
// tsgrad/problems/gaussian.py and tsgrad/policies/reshaped_gaussian.py.

#pragma once

#include <algorithm>
#include <cmath>

#include "lanes.hpp"

namespace tsgrad {

// What problem and policy are, as they come from Python: float64, one number an arm.
struct FamilyInput {
  int arms, horizon;
  const double* problem;  // [3 or 2][K]
  const double* policy;   // [4][K], unconstrained
};

// A logarithm, at most `bound` from where plain Thompson sampling has it: bounded_exp in tsgrad/policies/reshaped.py.
struct Bounded {
  Bounded(double logarithm, double start, double bound)
      : value(std::exp(start + std::clamp(logarithm - start, -bound, bound))), moves(std::abs(logarithm - start) < bound) {}
  double value;
  bool moves;  // with the meta-parameters
};

template <class RealType>
class Gaussian {
 public:
  using Real = RealType;
  static constexpr int kMeta = 4;  // prior_mean, log_prior_variance, log_precision_ratio, decay
  static constexpr double kBound = 20;

  explicit Gaussian(const FamilyInput& input) : arms(input.arms), horizon(input.horizon) {
    for (int k = 0; k < arms; ++k) {
      const double mean = input.problem[k], std = input.problem[arms + k], noise = input.problem[2 * arms + k];
      prior_mean_.push_back(Real(mean)), prior_std_.push_back(Real(std)), noise_std_.push_back(Real(noise));
      prior_ratio_.push_back(Real((std / noise) * (std / noise)));
      const Bounded ratio(input.policy[2 * arms + k], 2 * std::log(std / noise), kBound);
      mean_.push_back(Real(input.policy[k])), ratio_.push_back(Real(ratio.value));
      ratio_moves_.push_back(Real(ratio.moves));
    }
    for (int t = 1; t <= horizon; ++t) {
      const double log_left = std::log(double(horizon - t + 1) / horizon);
      for (int k = 0; k < arms; ++k) {
        const Bounded variance(input.policy[arms + k] + input.policy[3 * arms + k] * log_left,
                               2 * std::log(input.problem[arms + k]), kBound);
        const double std = std::sqrt(variance.value), half = variance.moves ? 0.5 : 0.0;
        std_.push_back(Real(std)), inverse_std_.push_back(Real(1 / std));
        half_.push_back(Real(half)), half_log_.push_back(Real(half * log_left));
      }
    }
  }

  // What of the law changes only when an arm is pulled: kept, so that no division stands in the loop over arms.
  struct Cache {
    explicit Cache(int arms)
        : location(arms * kLanes), shrink(arms * kLanes), ratio_location(arms * kLanes), ratio_scale(arms * kLanes) {}
    Buffer<Real> location, shrink;              // mean, and standard deviation relative to the prior's
    Buffer<Real> ratio_location, ratio_scale;   // how both move with the logarithm of the precision ratio
  };

  void draw_world(const Keys& keys, Real* theta) const {
    for (int k = 0; k < arms; ++k)
      TSGRAD_EACH_LANE
        theta[k * kLanes + l] = prior_mean_[k] + prior_std_[k] * normal<Real>(keys[l], 0, k);
  }

  void rewards(const Keys& keys, int t, const Arms<Real>& arm, const Lanes<Real>& mean, Lanes<Real>& reward) const {
    Lanes<Real> noise_std;
    TSGRAD_EACH_LANE noise_std[l] = noise_std_[arm[l]];
    TSGRAD_EACH_LANE
      reward[l] = mean[l] + noise_std[l] * normal<Real>(keys[l], t, static_cast<std::uint32_t>(arm[l]));
  }

  Real posterior_mean(int k, Real pulls, Real total) const {
    return (prior_mean_[k] + prior_ratio_[k] * total) * (1 / (1 + prior_ratio_[k] * pulls));
  }

  // What an index depends on, as in tsgrad/policies/index.py.
  static std::size_t cell(Real pulls, Real) { return static_cast<std::size_t>(pulls); }

  void start(Cache& cache) const {
    Arms<Real> arm;
    Lanes<Real> zero;
    zero.fill(0);
    for (int k = 0; k < arms; ++k) {
      arm.fill(k);
      renew(cache, arm, zero, zero);
    }
  }

  void renew(Cache& cache, const Arms<Real>& arm, const Lanes<Real>& pulls, const Lanes<Real>& total) const {
    Lanes<Real> mean, ratio, moving, location, shrink, of_location, of_scale;
    TSGRAD_EACH_LANE
      mean[l] = mean_[arm[l]], ratio[l] = ratio_[arm[l]], moving[l] = ratio_moves_[arm[l]];
    TSGRAD_EACH_LANE {
      const Real share = 1 / (1 + ratio[l] * pulls[l]);
      location[l] = (mean[l] + ratio[l] * total[l]) * share;
      shrink[l] = std::sqrt(share);
      of_location[l] = moving[l] * (ratio[l] * (total[l] - location[l] * pulls[l]) * shrink[l]);
      of_scale[l] = moving[l] * (Real(0.5) * ratio[l] * pulls[l] * share);
    }
    TSGRAD_EACH_LANE {
      const std::size_t at = arm[l] * kLanes + l;
      cache.location[at] = location[l], cache.shrink[at] = shrink[l];
      cache.ratio_location[at] = of_location[l], cache.ratio_scale[at] = of_scale[l];
    }
  }

  // Draws a pseudo-action and finds its best arm. With Score, adds (or, without Keep, sets) factor * score to `scores`
  // [meta-parameter][arm][lane].
  template <bool Score, bool Keep, bool Factor>
  void draw(const Cache& cache, const Keys& keys, const Real*, const Real*, int t, const Lanes<Real>& factor,
            Real* scores, Arms<Real>& arm) const {
    using Integer = typename Bits<Real>::Integer;
    Lanes<Real> best, z[2];
    const Real* const row = std_.data() + (t - 1) * arms;
    const Real* const inverse_row = inverse_std_.data() + (t - 1) * arms;
    const std::size_t size = static_cast<std::size_t>(arms) * kLanes;
    for (int j = 0; 2 * j < arms; ++j) {
      TSGRAD_EACH_LANE {
        const NormalPair<Real> pair = normal_pair<Real>(keys[l], t, j);
        z[0][l] = pair.even, z[1][l] = pair.odd;
      }
      for (int k = 2 * j; k < std::min(2 * j + 2, arms); ++k) {
        const Lanes<Real>& residual = z[k & 1];
        const Real* const location = cache.location.data() + k * kLanes;
        const Real* const shrink = cache.shrink.data() + k * kLanes;
        const Real std = row[k];
        TSGRAD_EACH_LANE {
          const Real value = location[l] + (std * shrink[l]) * residual[l];
          const bool better = k == 0 || value > best[l];
          best[l] = better ? value : best[l];
          arm[l] = better ? Integer(k) : arm[l];
        }
        if constexpr (Score) {
          const Real inverse = inverse_row[k];
          const Real half = half_[(t - 1) * arms + k], half_log = half_log_[(t - 1) * arms + k];
          const Real* const ratio_location = cache.ratio_location.data() + k * kLanes;
          const Real* const ratio_scale = cache.ratio_scale.data() + k * kLanes;
          Real* const of_mean = scores + k * kLanes;
          Real* const of_variance = of_mean + size;
          Real* const of_ratio = of_variance + size;
          Real* const of_decay = of_ratio + size;
          TSGRAD_EACH_LANE {
            const Real slope = residual[l] * inverse, square = residual[l] * residual[l] - 1;
            const Real scale = Factor ? factor[l] : Real(1);
            of_mean[l] = (Keep ? of_mean[l] : 0) + scale * (slope * shrink[l]);
            of_variance[l] = (Keep ? of_variance[l] : 0) + scale * (half * square);
            of_ratio[l] = (Keep ? of_ratio[l] : 0) + scale * (slope * ratio_location[l] - square * ratio_scale[l]);
            of_decay[l] = (Keep ? of_decay[l] : 0) + scale * (half_log * square);
          }
        }
      }
    }
  }

  const int arms, horizon;

 private:
  std::vector<Real> prior_mean_, prior_std_, noise_std_, prior_ratio_;     // [K], the problem
  std::vector<Real> mean_, ratio_, ratio_moves_;                           // [K], the policy
  std::vector<Real> std_, inverse_std_, half_, half_log_;                  // [T][K], the policy over time
};

}  // namespace tsgrad
