// The reshaped posterior of Gaussian arms. The formulas are those of tsgrad/policies/reshaped.py.

#pragma once

#include "gaussian_arms.hpp"
#include "law.hpp"
#include "truncated_normal.hpp"

namespace tsgrad {

template <class Arms>
class ReshapedNormal {
 public:
  using Real = typename Arms::Real;
  static constexpr const char* kName = "reshaped-normal";
  static constexpr bool kScored = true, kConditional = true;
  static constexpr double kBound = 20;

  ReshapedNormal(const Arms& arms, const Fields& policy, int horizon) : arms_(arms.count) {
    const PerArm mean = policy.per_arm("prior_mean", arms_), log_variance = policy.per_arm("log_prior_variance", arms_);
    const PerArm log_ratio = policy.per_arm("log_precision_ratio", arms_), decay = policy.per_arm("decay", arms_);
    score_ = {ScoreRows::of_arms("prior_mean", mean, arms_),
              ScoreRows::of_arms("log_prior_variance", log_variance, arms_),
              ScoreRows::of_arms("log_precision_ratio", log_ratio, arms_), ScoreRows::of_arms("decay", decay, arms_)};
    for (int k = 0; k < arms_; ++k) {
      const Bounded ratio(log_ratio[k], 2 * std::log(arms.prior_std[k] / arms.noise_std[k]), kBound);
      centre_.push_back(Real(arms.prior_mean[k])), shift_.push_back(Real(mean[k] - arms.prior_mean[k]));
      ratio_.push_back(Real(ratio.value)), ratio_moves_.push_back(Real(ratio.moves));
    }
    for (int t = 1; t <= horizon; ++t) {
      const double log_left = std::log(double(horizon - t + 1) / horizon);
      for (int k = 0; k < arms_; ++k) {
        const Bounded variance(log_variance[k] + decay[k] * log_left, 2 * std::log(arms.prior_std[k]), kBound);
        const double std = std::sqrt(variance.value), half = variance.moves ? 0.5 : 0.0;
        std_.push_back(Real(std)), inverse_std_.push_back(Real(1 / std));
        half_.push_back(Real(half)), half_log_.push_back(Real(half * log_left));
      }
    }
  }

  const std::vector<ScoreRows>& score() const { return score_; }

  // What of the law changes only when an arm is pulled: kept, so that no division stands in the loop over arms.
  struct Cache {
    explicit Cache(int arms)
        : shift(row_of(arms)), shrink(row_of(arms)), ratio_location(row_of(arms)), ratio_scale(row_of(arms)) {}
    Buffer<Real> shift, shrink;                // mean from the model's, and standard deviation relative to the prior's
    Buffer<Real> ratio_location, ratio_scale;  // how both move with the logarithm of the precision ratio
  };

  void start(Cache& cache) const {
    Choice<Real> arm;
    Lanes<Real> zero;
    zero.fill(0);
    for (int k = 0; k < arms_; ++k) {
      arm.fill(k);
      renew(cache, arm, zero, zero);
    }
  }

  void renew(Cache& cache, const Choice<Real>& arm, const Lanes<Real>& pulls, const Lanes<Real>& total) const {
    const Lanes<Real> prior_shift = shift_.of(arm), ratio = ratio_.of(arm);
    Lanes<Real> shift, shrink, of_location, of_scale;
    TSGRAD_EACH_LANE {
      const Real share = 1 / (1 + ratio[l] * pulls[l]);
      shift[l] = (prior_shift[l] + ratio[l] * total[l]) * share;
      shrink[l] = std::sqrt(share);
      of_location[l] = ratio[l] * (total[l] - shift[l] * pulls[l]) * shrink[l];
      of_scale[l] = Real(0.5) * ratio[l] * pulls[l] * share;
    }
    TSGRAD_EACH_LANE {
      const std::size_t at = arm[l] * kLanes + l;
      cache.shift[at] = shift[l], cache.shrink[at] = shrink[l];
      cache.ratio_location[at] = of_location[l], cache.ratio_scale[at] = of_scale[l];
    }
  }

  template <class Score>
  void draw(Cache& cache, const Keys& keys, const Belief<Real>&, int t, const Open& open, const Score& score,
            Choice<Real>& arm) const {
    Contest<Real, Score::kExpected> contest(open, arm);
    const std::size_t step = static_cast<std::size_t>(t - 1) * arms_;
    for (int j = 0; 2 * j < arms_; ++j) {
      Lanes<Real> z[2];
      TSGRAD_EACH_LANE {
        const NormalPair<Real> pair = normal_pair<Real>(keys[l], t, j);
        z[0][l] = pair.even, z[1][l] = pair.odd;
      }
      for (int k = 2 * j; k < std::min(2 * j + 2, arms_); ++k) {
        const Lanes<Real>& residual = z[k & 1];
        const Real* const shift = cache.shift.data() + row_of(k);
        const Real* const shrink = cache.shrink.data() + row_of(k);
        const Real centre = centre_[k], std = std_[step + k];
        contest.offer(k, [&](int l) { return (centre + shift[l]) + (std * shrink[l]) * residual[l]; });
        if constexpr (Score::kAsked && !Score::kExpected) {
          Lanes<Real> square;
          TSGRAD_EACH_LANE square[l] = residual[l] * residual[l] - 1;
          put_score(cache, step, k, residual, square, score);
        }
      }
    }
    if constexpr (Score::kExpected) put_expected_scores(cache, contest, step, score);
  }

 private:
  // Who won is known once all arms have drawn.
  template <class Score>
  void put_expected_scores(const Cache& cache, const Contest<Real, true>& contest, std::size_t step, const Score& score) const {
    Lanes<Real> first, square;
    for (int k = 0; k < arms_; ++k) {
      const Real* const shift = cache.shift.data() + row_of(k);
      const Real* const shrink = cache.shrink.data() + row_of(k);
      const Real centre = centre_[k], std = std_[step + k];
      expect_residual(
          contest, k, [&](int l) { return centre + shift[l]; }, [&](int l) { return std * shrink[l]; }, first, square);
      put_score(cache, step, k, first, square, score);
    }
  }

  // The score of arm k by its residual z: `first` is z and `square` z^2 - 1, or what is expected of them.
  template <class Score>
  TSGRAD_INLINE void put_score(const Cache& cache, std::size_t step, int k, const Lanes<Real>& first,
                               const Lanes<Real>& square, const Score& score) const {
    const Real* const shrink = cache.shrink.data() + row_of(k);
    const Real inverse = inverse_std_[step + k], half = half_[step + k], half_log = half_log_[step + k];
    const Real moving = ratio_moves_[k];
    const Real* const ratio_location = cache.ratio_location.data() + row_of(k);
    const Real* const ratio_scale = cache.ratio_scale.data() + row_of(k);
    const std::size_t size = row_of(arms_);
    Real* const of_mean = score.rows + row_of(k);
    Real* const of_variance = of_mean + size;
    Real* const of_ratio = of_variance + size;
    Real* const of_decay = of_ratio + size;
    TSGRAD_EACH_LANE {
      const Real slope = first[l] * inverse;
      score.put(of_mean, l, slope * shrink[l]);
      score.put(of_variance, l, half * square[l]);
      score.put(of_ratio, l, moving * (slope * ratio_location[l] - square[l] * ratio_scale[l]));
      score.put(of_decay, l, half_log * square[l]);
    }
  }

  const int arms_;
  std::vector<ScoreRows> score_;
  ArmValues<Real> shift_, ratio_;                          // the prior mean is the model's and a shift
  std::vector<Real> centre_, ratio_moves_;                 // [K]
  std::vector<Real> std_, inverse_std_, half_, half_log_;  // [T][K]
};

}  // namespace tsgrad
