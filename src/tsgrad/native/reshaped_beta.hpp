// The reshaped posterior of Bernoulli arms. The formulas are those of tsgrad/policies/reshaped_bernoulli.py.

#pragma once

#include "bernoulli_arms.hpp"
#include "law.hpp"

namespace tsgrad {

template <class Arms>
class ReshapedBeta {
 public:
  using Real = typename Arms::Real;
  using Cache = NoCache;
  static constexpr const char* kName = "reshaped-beta";
  static constexpr bool kScored = true;
  static constexpr double kBound = 8;

  ReshapedBeta(const Arms& arms, const Fields& policy, int horizon) : arms_(arms.count) {
    const PerArm log_alpha = policy.per_arm("log_alpha", arms_), log_beta = policy.per_arm("log_beta", arms_);
    const PerArm log_weight = policy.per_arm("log_evidence_weight", arms_), decay = policy.per_arm("decay", arms_);
    score_ = {ScoreRows::of_arms("log_alpha", log_alpha, arms_), ScoreRows::of_arms("log_beta", log_beta, arms_),
              ScoreRows::of_arms("log_evidence_weight", log_weight, arms_), ScoreRows::of_arms("decay", decay, arms_)};
    for (int t = 1; t <= horizon; ++t) {
      const double log_left = std::log(double(horizon - t + 1) / horizon);
      log_left_.push_back(Real(log_left));
      for (int k = 0; k < arms_; ++k) {
        const double concentration = -decay[k] * log_left;
        for (const Bounded& count : {Bounded(log_alpha[k] + concentration, std::log(arms.alpha[k]), kBound),
                                     Bounded(log_beta[k] + concentration, std::log(arms.beta[k]), kBound),
                                     Bounded(log_weight[k] + concentration, 0, kBound)})
          counts_.push_back(Real(count.value)), moves_.push_back(Real(count.moves));
      }
    }
  }

  const std::vector<ScoreRows>& score() const { return score_; }

  void start(Cache&) const {}
  void renew(Cache&, const Choice<Real>&, const Lanes<Real>&, const Lanes<Real>&) const {}

  template <class Score>
  void draw(const Cache&, const Keys& keys, const Belief<Real>& belief, int t, const Open& open, const Score& score,
            Choice<Real>& arm) const {
    Winner<Real> winner(open, arm);
    Lanes<Real> alpha, beta, log_value, log_complement;
    const std::size_t size = row_of(arms_);
    for (int k = 0; k < arms_; ++k) {
      const std::size_t at = 3 * (static_cast<std::size_t>(t - 1) * arms_ + k);
      const Real* const count = counts_.data() + at;
      const Real* const moving = moves_.data() + at;
      const Real* const tries = belief.pulls + row_of(k);
      const Real* const successes = belief.total + row_of(k);
      TSGRAD_EACH_LANE {
        alpha[l] = count[0] + count[2] * successes[l];
        beta[l] = count[1] + count[2] * (tries[l] - successes[l]);
      }
      draw_beta(keys, t, k, arms_, alpha, beta, log_value, log_complement);
      winner.offer(k, [&](int l) { return exponential(log_value[l]); });
      if constexpr (Score::kAsked) {
        Real* const of_alpha = score.rows + row_of(k);
        Real* const of_beta = of_alpha + size;
        Real* const of_weight = of_beta + size;
        Real* const of_decay = of_weight + size;
        TSGRAD_EACH_LANE {
          const Real alpha_slope = log_value[l] + digamma_gap(alpha[l], beta[l]);
          const Real beta_slope = log_complement[l] + digamma_gap(beta[l], alpha[l]);
          const Real by_alpha = moving[0] * count[0] * alpha_slope, by_beta = moving[1] * count[1] * beta_slope;
          const Real by_weight = moving[2] * count[2] *
                                 (successes[l] * alpha_slope + (tries[l] - successes[l]) * beta_slope);
          score.put(of_alpha, l, by_alpha);
          score.put(of_beta, l, by_beta);
          score.put(of_weight, l, by_weight);
          score.put(of_decay, l, -(log_left_[t - 1] * (by_alpha + by_beta + by_weight)));
        }
      }
    }
  }

 private:
  const int arms_;
  std::vector<ScoreRows> score_;
  std::vector<Real> log_left_;        // [T]
  std::vector<Real> counts_, moves_;  // [T][K][alpha, beta, weight]
};

}  // namespace tsgrad
