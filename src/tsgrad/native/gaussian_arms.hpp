// Gaussian arms: worlds, rewards and beliefs. The formulas are those of tsgrad/problems/gaussian.py.

#pragma once

#include "fields.hpp"
#include "lanes.hpp"

namespace tsgrad {

template <class RealType>
class GaussianArms {
 public:
  using Real = RealType;
  static constexpr const char* kName = "gaussian";

  explicit GaussianArms(const Fields& problem)
      : count(problem.arms("prior_mean")), prior_mean(problem.per_arm("prior_mean", count)),
        prior_std(problem.per_arm("prior_std", count)), noise_std(problem.per_arm("noise_std", count)) {
    for (int k = 0; k < count; ++k) {
      const double ratio = (prior_std[k] / noise_std[k]) * (prior_std[k] / noise_std[k]);
      prior_mean_.push_back(Real(prior_mean[k])), prior_std_.push_back(Real(prior_std[k]));
      noise_std_.push_back(Real(noise_std[k])), prior_ratio_.push_back(Real(ratio));
    }
  }

  void draw_world(const Keys& keys, Real* theta) const {
    for (int k = 0; k < count; ++k)
      TSGRAD_EACH_LANE
        theta[row_of(k) + l] = prior_mean_[k] + prior_std_[k] * normal<Real>(keys[l], 0, k);
  }

  // Of the turns of arms: which play of its arm each is, counted from 1.
  void rewards(const Keys& keys, const Turns& turn, const Choice<Real>& arm, const Lanes<Real>& mean,
               Lanes<Real>& reward) const {
    const Lanes<Real> noise_std = noise_std_.of(arm);
    TSGRAD_EACH_LANE
      reward[l] = mean[l] + noise_std[l] * normal<Real>(keys[l], turn[l], static_cast<std::uint32_t>(arm[l]));
  }

  // What rewards add to the totals of their arms: what they exceed the prior mean by.
  TSGRAD_INLINE Lanes<Real> evidence(const Choice<Real>& arm, const Lanes<Real>& reward) const {
    Lanes<Real> excess = prior_mean_.of(arm);
    TSGRAD_EACH_LANE excess[l] = reward[l] - excess[l];
    return excess;
  }

  TSGRAD_INLINE Real posterior_mean(int k, Real pulls, Real total) const {
    return expected(prior_mean_[k], prior_ratio_[k], pulls, total);
  }

  TSGRAD_INLINE Lanes<Real> posterior_means(const Choice<Real>& arm, const Lanes<Real>& pulls,
                                            const Lanes<Real>& total) const {
    const Lanes<Real> centre = prior_mean_.of(arm), ratio = prior_ratio_.of(arm);
    Lanes<Real> mean;
    TSGRAD_EACH_LANE mean[l] = expected(centre[l], ratio[l], pulls[l], total[l]);
    return mean;
  }

  // Mean and standard deviation of the arm's expected reward, and how many rewards what is known is worth.
  void moments(const Choice<Real>& arm, const Lanes<Real>& pulls, const Lanes<Real>& total, Lanes<Real>& mean,
               Lanes<Real>& std, Lanes<Real>& strength) const {
    const Lanes<Real> centre = prior_mean_.of(arm), spread = prior_std_.of(arm), ratio = prior_ratio_.of(arm);
    TSGRAD_EACH_LANE {
      mean[l] = expected(centre[l], ratio[l], pulls[l], total[l]);
      std[l] = spread[l] * std::sqrt(1 / (1 + ratio[l] * pulls[l]));
      strength[l] = pulls[l] + 1 / ratio[l];
    }
  }

  // What an index depends on, as in tsgrad/problems/tabled.py.
  static std::size_t cell(Real pulls, Real) { return static_cast<std::size_t>(pulls); }
  static std::size_t cells(std::size_t horizon) { return horizon; }

  const int count;
  const PerArm prior_mean, prior_std, noise_std;  // as they were given

 private:
  static TSGRAD_INLINE Real expected(Real centre, Real ratio, Real pulls, Real total) {
    return centre + ratio * total * (1 / (1 + ratio * pulls));
  }

  ArmValues<Real> prior_mean_, prior_std_, noise_std_, prior_ratio_;
};

}  // namespace tsgrad
