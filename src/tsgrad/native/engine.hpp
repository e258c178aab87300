// The engine: plays groups of episodes, scores and accumulates in one pass, for any arms and any law.

#pragma once

#include <atomic>

#include "oracle.hpp"
#include "rollout.hpp"

namespace tsgrad {

enum class Metric : int { kObs = 0, kMean = 1, kFin = 2, kBayes = 3 };
enum class Baseline : int { kNull = 0, kOracle = 1, kSelf = 2 };

struct Plan {
  Address address;
  std::uint32_t episodes;  // of the whole call; episodes beyond pad the last block
  Metric metric;
  Baseline baseline;
  int rollouts;
  bool single_time;
  bool conditional;  // which score
  bool fisher;       // whether the scores of the first rollout's steps are wanted
  const bool* available;  // [T][K]: which arms can be played; or nothing, where all can
  const std::atomic<bool>* stop;
};

// A group of episodes: their instances, and all of their rollouts. Lives as long as a thread and is used again.
template <class Kernel>
class Group {
 public:
  using Real = typename Kernel::Real;

  Group(const Kernel& kernel, const Plan& plan)
      : kernel_(kernel), plan_(plan), mask_(plan.available, kernel.arms.count), oracle_(kernel.truth, kernel.arms, mask_),
        theta_(row_of(kernel.arms.count)),
        seen_(plan.metric == Metric::kFin ? theta_.size() * (kernel.horizon + 1) : 0),
        gradient(row_count(kernel.law.score()) * kLanes) {
    for (int r = 0; r < plan.rollouts; ++r) rollouts_.emplace_back(kernel);
  }

  // Plays the episodes from `first` on, for their regret; `seen` is told of every step.
  template <class Seen>
  void simulate(std::uint32_t first, Seen&& seen) {
    begin(first);
    Rollout<Kernel>& rollout = rollouts_[0];
    for (int t = 1; t <= kernel_.horizon; ++t) {
      if (stopped(t)) return;
      oracle_.go_to(t);
      step(rollout, t, NoScore{});
      seen(t, rollout, oracle_.mean);
      rollout.learn(kernel_);
    }
  }

  // Plays the episodes from `first` on, for the gradient [row][lanes] and the regret; where the plan says so, `seen` is
  // told of every score of the first rollout: its rows, and whether they are the sum of all steps so far.
  template <class Seen>
  void differentiate(std::uint32_t first, Seen&& seen) {
    begin(first);
    std::fill(gradient.begin(), gradient.end(), Real(0));
    if (plan_.metric == Metric::kFin) {
      plan_.single_time ? play<false, true>(seen) : play<false, false>(seen);
    } else {
      plan_.single_time ? play<true, true>(seen) : play<true, false>(seen);
    }
    for (Real& sum : gradient) sum /= plan_.rollouts;
    TSGRAD_EACH_LANE regret[l] /= plan_.rollouts;
  }

  int horizon() const { return kernel_.horizon; }

 private:
  void begin(std::uint32_t first) {
    reward_keys_ = Keys(plan_.address, kReward, 0, first);
    kernel_.truth.draw_world(Keys(plan_.address, kWorld, 0, first), theta_.data());
    oracle_.start(theta_.data());
    const Keys time_keys(plan_.address, kTime, 0, first);
    TSGRAD_EACH_LANE {
      const Real horizon = Real(kernel_.horizon);
      chosen_time_[l] = std::min(std::ceil(uniform_at<Real>(time_keys[l], 0, 0) * horizon), horizon);
    }
    for (int r = 0; r < plan_.rollouts; ++r) rollouts_[r].start(kernel_, plan_.address, r, first);
    regret.fill(0);
  }

  // One decision and its reward.
  template <class Score>
  void step(Rollout<Kernel>& rollout, int t, const Score& score) {
    kernel_.law.draw(rollout.cache, rollout.keys, rollout.belief(), t, mask_.at(t), score, rollout.arm);
    TSGRAD_EACH_LANE {
      const std::size_t at = rollout.arm[l] * kLanes + l;
      rollout.mean[l] = theta_[at], rollout.plays[l] = rollout.pulls[at] + 1;
    }
    kernel_.truth.rewards(reward_keys_, turns(rollout.plays), rollout.arm, rollout.mean, rollout.reward);
  }

  // A decision with its score: the sum of all so far (Keep) or its own; of the chosen time alone, times T (Single).
  template <bool Keep, bool Single>
  void scored_step(Rollout<Kernel>& rollout, int t) {
    Lanes<Real> factor;
    if constexpr (Single)
      TSGRAD_EACH_LANE factor[l] = chosen_time_[l] == Real(t) ? Real(kernel_.horizon) : Real(0);
    if constexpr (Kernel::Law::kConditional)
      if (plan_.conditional) return step(rollout, t, StepScore<Real, Keep, Single, true>{rollout.scores.data(), factor});
    step(rollout, t, StepScore<Real, Keep, Single, false>{rollout.scores.data(), factor});
  }

  // All rollouts in step. A separable metric needs no look back: with advantage a_s at step s and running score
  // E_s = sum_{t <= s} S_t, the gradient is sum_s E_s a_s. `fin` knows its whole weight at t, from a first pass.
  template <bool Separable, bool Single, class Seen>
  void play(Seen& seen) {
    if constexpr (!Separable) look_at_the_end();
    for (int t = 1; t <= kernel_.horizon; ++t) {
      if (stopped(t)) return;
      oracle_.go_to(t);
      if constexpr (!Separable)
        for (Rollout<Kernel>& rollout : rollouts_) finite_sample_value(rollout, t);
      for (Rollout<Kernel>& rollout : rollouts_) {
        scored_step<Separable, Single>(rollout, t);
        if (plan_.fisher && &rollout == rollouts_.data()) seen(rollout.scores, Separable);
        if constexpr (Separable) separable_value(rollout);
        TSGRAD_EACH_LANE regret[l] += oracle_.mean[l] - rollout.mean[l];
      }
      subtract_baseline<Separable>(t);
      for (Rollout<Kernel>& rollout : rollouts_) {
        accumulate(rollout);
        rollout.learn(kernel_);
      }
      if constexpr (!Separable)
        if (mask_) oracle_.pass_step();
    }
  }

  void accumulate(const Rollout<Kernel>& rollout) {
    const Lanes<Real> weight = rollout.value;
    for (std::size_t row = 0; row < gradient.size(); row += kLanes) {
      const Real* const score = rollout.scores.data() + row;
      Real* const sum = gradient.data() + row;
      TSGRAD_EACH_LANE sum[l] += score[l] * weight[l];
    }
  }

  void separable_value(Rollout<Kernel>& rollout) {
    if (plan_.metric == Metric::kObs) {
      rollout.value = rollout.reward;
    } else if (plan_.metric == Metric::kMean) {
      rollout.value = rollout.mean;
    } else {
      Lanes<Real> pulls, total;
      TSGRAD_EACH_LANE pulls[l] = rollout.plays[l] - 1, total[l] = rollout.total[rollout.arm[l] * kLanes + l];
      rollout.value = kernel_.arms.posterior_means(rollout.arm, pulls, total);
    }
  }

  template <bool Separable>
  void subtract_baseline(int t) {
    Lanes<Real> sum;
    sum.fill(0);
    if (plan_.baseline == Baseline::kNull) return;
    if (plan_.baseline == Baseline::kSelf) {
      for (const Rollout<Kernel>& rollout : rollouts_)
        TSGRAD_EACH_LANE sum[l] += rollout.value[l];
      for (Rollout<Kernel>& rollout : rollouts_)
        TSGRAD_EACH_LANE rollout.value[l] -= (sum[l] - rollout.value[l]) / (plan_.rollouts - 1);
      return;
    }
    Rollout<Kernel>& rollout = rollouts_[0];  // an oracle needs no other rollouts
    if constexpr (!Separable) {
      subtract_best_estimate(rollout, t);
    } else if (plan_.metric == Metric::kMean) {
      TSGRAD_EACH_LANE rollout.value[l] -= oracle_.mean[l];
    } else {
      Lanes<Real> reward, expected;
      oracle_.play(reward_keys_, reward, expected);
      const Lanes<Real>& earned = plan_.metric == Metric::kObs ? reward : expected;
      TSGRAD_EACH_LANE rollout.value[l] -= earned[l];
    }
  }

  // For `fin`: the estimates of the best arms of all steps from t on.
  void subtract_best_estimate(Rollout<Kernel>& rollout, int t) const {
    if (!mask_) {
      TSGRAD_EACH_LANE rollout.value[l] -= (kernel_.horizon - t + 1) * estimate(rollout, t, oracle_.arm[l], l);
      return;
    }
    Lanes<Real> sum;
    sum.fill(0);
    for (int k = 0; k < kernel_.arms.count; ++k) {
      const Real* const left = oracle_.left(k);
      TSGRAD_EACH_LANE sum[l] += left[l] * estimate(rollout, t, k, l);
    }
    TSGRAD_EACH_LANE rollout.value[l] -= sum[l];
  }

  // For `fin`: how often each rollout pulls each arm in all, and what every arm pays in any number of plays.
  void look_at_the_end() {
    for (Rollout<Kernel>& rollout : rollouts_) {
      for (int t = 1; t <= kernel_.horizon; ++t) {
        if (stopped(t)) return;
        step(rollout, t, NoScore{});
        rollout.learn(kernel_);
      }
      rollout.final_pulls = rollout.pulls;
      rollout.forget(kernel_);
    }
    if (mask_) oracle_.look_ahead(kernel_.horizon);
    std::fill(seen_.begin(), seen_.begin() + theta_.size(), Real(0));
    Turns turn;
    Choice<Real> arm;
    Lanes<Real> mean, reward;
    for (int t = 1; t <= kernel_.horizon; ++t) {
      turn.fill(t);
      for (int k = 0; k < kernel_.arms.count; ++k) {
        arm.fill(k);
        TSGRAD_EACH_LANE mean[l] = theta_[row_of(k) + l];
        kernel_.truth.rewards(reward_keys_, turn, arm, mean, reward);
        Real* const sum = seen_.data() + t * theta_.size() + row_of(k);
        const Real* const before = sum - theta_.size();
        const Lanes<Real> evidence = kernel_.arms.evidence(arm, reward);
        TSGRAD_EACH_LANE sum[l] = before[l] + evidence[l];
      }
    }
  }

  // The mean of arm k as well as it can be known at the end, if from t on it alone were pulled.
  Real estimate(const Rollout<Kernel>& rollout, int t, int k, int l) const {
    const std::size_t at = row_of(k) + l;
    const Real pulls = rollout.pulls[at] + (kernel_.horizon - t + 1);
    return kernel_.arms.posterior_mean(k, pulls, seen_[static_cast<std::size_t>(pulls) * theta_.size() + at]);
  }

  void finite_sample_value(Rollout<Kernel>& rollout, int t) const {
    rollout.value.fill(0);
    for (int k = 0; k < kernel_.arms.count; ++k)
      TSGRAD_EACH_LANE {
        const std::size_t at = row_of(k) + l;
        rollout.value[l] += (rollout.final_pulls[at] - rollout.pulls[at]) * estimate(rollout, t, k, l);
      }
  }

  bool stopped(int t) const { return t % 256 == 0 && plan_.stop->load(std::memory_order_relaxed); }

  const Kernel& kernel_;
  const Plan& plan_;
  const Mask mask_;
  std::vector<Rollout<Kernel>> rollouts_;
  Keys reward_keys_;
  Oracle<typename Kernel::Arms> oracle_;
  Buffer<Real> theta_;  // [K][lanes]
  Buffer<Real> seen_;   // [T + 1][K][lanes], for `fin`: the total of an arm's first rewards, by their number
  Lanes<Real> chosen_time_;

 public:
  Buffer<Real> gradient;  // [row][lanes]
  Lanes<Real> regret;
};

}  // namespace tsgrad
