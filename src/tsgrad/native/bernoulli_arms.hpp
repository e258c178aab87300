// Bernoulli arms: worlds, rewards and beliefs. The formulas are those of tsgrad/problems/bernoulli.py.

#pragma once

#include "beta.hpp"
#include "fields.hpp"

namespace tsgrad {

template <class RealType>
class BernoulliArms {
 public:
  using Real = RealType;
  static constexpr const char* kName = "bernoulli";

  explicit BernoulliArms(const Fields& problem)
      : count(problem.arms("alpha")), alpha(problem.per_arm("alpha", count)), beta(problem.per_arm("beta", count)) {
    for (int k = 0; k < count; ++k) prior_alpha_.push_back(Real(alpha[k])), prior_beta_.push_back(Real(beta[k]));
  }

  void draw_world(const Keys& keys, Real* theta) const {
    Lanes<Real> alpha, beta, logit;
    for (int k = 0; k < count; ++k) {
      alpha.fill(prior_alpha_[k]), beta.fill(prior_beta_[k]);
      draw_logit(keys, 0, k, count, alpha, beta, logit);
      TSGRAD_EACH_LANE theta[row_of(k) + l] = exponential(log_sigmoid(logit[l]));
    }
  }

  // Of the turns of arms: which play of its arm each is, counted from 1.
  void rewards(const Keys& keys, const Turns& turn, const Choice<Real>& arm, const Lanes<Real>& mean,
               Lanes<Real>& reward) const {
    TSGRAD_EACH_LANE
      reward[l] = uniform_at<Real>(keys[l], turn[l], static_cast<std::uint32_t>(arm[l])) < mean[l] ? Real(1) : Real(0);
  }

  // What rewards add to the totals of their arms.
  TSGRAD_INLINE Lanes<Real> evidence(const Choice<Real>&, const Lanes<Real>& reward) const { return reward; }

  TSGRAD_INLINE Real posterior_mean(int k, Real pulls, Real total) const {
    return expected(prior_alpha_[k], prior_beta_[k], pulls, total);
  }

  TSGRAD_INLINE Lanes<Real> posterior_means(const Choice<Real>& arm, const Lanes<Real>& pulls,
                                            const Lanes<Real>& total) const {
    const Lanes<Real> alpha = prior_alpha_.of(arm), beta = prior_beta_.of(arm);
    Lanes<Real> mean;
    TSGRAD_EACH_LANE mean[l] = expected(alpha[l], beta[l], pulls[l], total[l]);
    return mean;
  }

  // Mean and standard deviation of the arm's expected reward, and how many rewards what is known is worth.
  void moments(const Choice<Real>& arm, const Lanes<Real>& pulls, const Lanes<Real>& total, Lanes<Real>& mean,
               Lanes<Real>& std, Lanes<Real>& strength) const {
    const Lanes<Real> alpha = prior_alpha_.of(arm), beta = prior_beta_.of(arm);
    TSGRAD_EACH_LANE {
      const Real successes = alpha[l] + total[l], failures = beta[l] + (pulls[l] - total[l]);
      strength[l] = successes + failures;
      mean[l] = successes / strength[l];
      std[l] = std::sqrt(mean[l] * (failures / strength[l]) / (strength[l] + 1));
    }
  }

  // What an index depends on, as in tsgrad/problems/tabled.py.
  static std::size_t cell(Real pulls, Real total) {
    const std::size_t count = static_cast<std::size_t>(pulls);
    return count * (count + 1) / 2 + static_cast<std::size_t>(total);
  }
  static std::size_t cells(std::size_t horizon) { return horizon * (horizon + 1) / 2; }

  const int count;
  const PerArm alpha, beta;  // as they were given

 private:
  static TSGRAD_INLINE Real expected(Real alpha, Real beta, Real pulls, Real total) {
    const Real successes = alpha + total, failures = beta + (pulls - total);
    return successes / (successes + failures);
  }

  ArmValues<Real> prior_alpha_, prior_beta_;
};

}  // namespace tsgrad
