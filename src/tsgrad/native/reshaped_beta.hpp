// The reshaped posterior of Bernoulli arms. The formulas are those of tsgrad/policies/reshaped_bernoulli.py.

#pragma once

#include "bernoulli_arms.hpp"
#include "law.hpp"
#include "truncated_beta.hpp"

namespace tsgrad {

template <class Arms>
class ReshapedBeta {
 public:
  using Real = typename Arms::Real;
  using Cache = NoCache;
  static constexpr const char* kName = "reshaped-beta";
  static constexpr bool kScored = true, kConditional = true;
  static constexpr double kBound = 8;

  ReshapedBeta(const Arms& arms, const Fields& policy, int horizon) : arms_(arms.count) {
    const PerArm log_alpha = policy.per_arm("log_alpha", arms_), log_beta = policy.per_arm("log_beta", arms_);
    const PerArm log_weight = policy.per_arm("log_evidence_weight", arms_), decay = policy.per_arm("decay", arms_);
    score_ = {ScoreRows::of_arms("log_alpha", log_alpha, arms_), ScoreRows::of_arms("log_beta", log_beta, arms_),
              ScoreRows::of_arms("log_evidence_weight", log_weight, arms_), ScoreRows::of_arms("decay", decay, arms_)};
    for (int t = 1; t <= horizon; ++t) {
      const double log_left = std::log(double(horizon - t + 1) / horizon);
      for (int k = 0; k < arms_; ++k) {
        const double starts[3] = {std::log(arms.alpha[k]), std::log(arms.beta[k]), 0};
        const double moved[3] = {log_alpha[k] - starts[0], log_beta[k] - starts[1], log_weight[k]};
        double kept[3];
        for (int c = 0; c < 3; ++c) kept[c] = std::clamp(moved[c], -kBound, kBound);
        // One concentration for all counts, within bounds that hold for each of them: the mean of the law stays.
        const double lowest = -kBound - *std::min_element(kept, kept + 3), wanted = -decay[k] * log_left;
        const double highest = kBound - *std::max_element(kept, kept + 3);
        const double concentration = std::clamp(wanted, lowest, highest);
        for (int c = 0; c < 3; ++c) {
          counts_.push_back(Real(std::exp(starts[c] + (kept[c] + concentration))));
          moves_.push_back(Real(std::abs(moved[c]) < kBound));
        }
        log_left_.push_back(Real(lowest < wanted && wanted < highest ? log_left : 0));
      }
    }
  }

  const std::vector<ScoreRows>& score() const { return score_; }

  void start(Cache&) const {}
  void renew(Cache&, const Choice<Real>&, const Lanes<Real>&, const Lanes<Real>&) const {}

  template <class Score>
  void draw(const Cache&, const Keys& keys, const Belief<Real>& belief, int t, const Open& open, const Score& score,
            Choice<Real>& arm) const {
    Contest<Real, Score::kExpected> contest(open, arm);
    Lanes<Real> alpha, beta, logit, alpha_slope, beta_slope;
    for (int k = 0; k < arms_; ++k) {
      count(belief, t, k, alpha, beta);
      draw_logit(keys, t, k, arms_, alpha, beta, logit);
      contest.offer(k, [&](int l) { return logit[l]; });  // draws themselves round to 0 or 1
      if constexpr (Score::kAsked && !Score::kExpected) {
        TSGRAD_EACH_LANE alpha_slope[l] = log_sigmoid(logit[l]), beta_slope[l] = log_sigmoid(-logit[l]);
        centre(alpha, beta, alpha_slope, beta_slope);
        put_score(belief, t, k, alpha_slope, beta_slope, score);
      }
    }
    if constexpr (Score::kExpected) put_expected_scores(belief, contest, t, score);
  }

 private:
  // The law of arm k.
  void count(const Belief<Real>& belief, int t, int k, Lanes<Real>& alpha, Lanes<Real>& beta) const {
    const Real* const counts = counts_.data() + 3 * at(t, k);
    const Real* const tries = belief.pulls + row_of(k);
    const Real* const successes = belief.total + row_of(k);
    TSGRAD_EACH_LANE {
      alpha[l] = counts[0] + counts[2] * successes[l];
      beta[l] = counts[1] + counts[2] * (tries[l] - successes[l]);
    }
  }

  // From log x and log(1 - x), or what is expected of them, to the slopes of the log-density in alpha and beta.
  static void centre(const Lanes<Real>& alpha, const Lanes<Real>& beta, Lanes<Real>& log_value,
                     Lanes<Real>& log_complement) {
    TSGRAD_EACH_LANE {
      log_value[l] += digamma_gap(alpha[l], beta[l]);
      log_complement[l] += digamma_gap(beta[l], alpha[l]);
    }
  }

  // Who won is known once all arms have drawn.
  template <class Score>
  void put_expected_scores(const Belief<Real>& belief, const Contest<Real, true>& contest, int t,
                           const Score& score) const {
    Lanes<Real> alpha, beta, alpha_slope, beta_slope;
    for (int k = 0; k < arms_; ++k) {
      if (contest.chosen_among(k)) {
        count(belief, t, k, alpha, beta);
        TruncatedBeta<Real>(contest, k, alpha, beta).expect(alpha_slope, beta_slope);
        centre(alpha, beta, alpha_slope, beta_slope);
      } else {
        alpha_slope.fill(0), beta_slope.fill(0);
      }
      put_score(belief, t, k, alpha_slope, beta_slope, score);
    }
  }

  template <class Score>
  TSGRAD_INLINE void put_score(const Belief<Real>& belief, int t, int k, const Lanes<Real>& alpha_slope,
                               const Lanes<Real>& beta_slope, const Score& score) const {
    const Real* const counts = counts_.data() + 3 * at(t, k);
    const Real* const moving = moves_.data() + 3 * at(t, k);
    const Real log_left = log_left_[at(t, k)];
    const Real* const tries = belief.pulls + row_of(k);
    const Real* const successes = belief.total + row_of(k);
    const std::size_t size = row_of(arms_);
    Real* const of_alpha = score.rows + row_of(k);
    Real* const of_beta = of_alpha + size;
    Real* const of_weight = of_beta + size;
    Real* const of_decay = of_weight + size;
    TSGRAD_EACH_LANE {
      const Real by_alpha = counts[0] * alpha_slope[l], by_beta = counts[1] * beta_slope[l];
      const Real by_weight = counts[2] * (successes[l] * alpha_slope[l] + (tries[l] - successes[l]) * beta_slope[l]);
      score.put(of_alpha, l, moving[0] * by_alpha);
      score.put(of_beta, l, moving[1] * by_beta);
      score.put(of_weight, l, moving[2] * by_weight);
      score.put(of_decay, l, -(log_left * (by_alpha + by_beta + by_weight)));
    }
  }

  std::size_t at(int t, int k) const { return static_cast<std::size_t>(t - 1) * arms_ + k; }

  const int arms_;
  std::vector<ScoreRows> score_;
  std::vector<Real> log_left_;        // [T][K], zero where the concentration is at a bound
  std::vector<Real> counts_, moves_;  // [T][K][alpha, beta, weight]
};

}  // namespace tsgrad
