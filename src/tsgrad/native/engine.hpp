// The engine: plays groups of episodes, scores and accumulates in one pass, for any family of problems and policies.

#pragma once

#include <atomic>
#include <type_traits>

#include "lanes.hpp"

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
  bool shared;  // one set of meta-parameters: scores are summed over arms
  const std::atomic<bool>* stop;
};

// One run of a group through its instances.
template <class Family>
struct Run {
  using Real = typename Family::Real;

  explicit Run(const Family& family)
      : cache(family.arms), pulls(family.arms * kLanes), total(family.arms * kLanes),
        scores(static_cast<std::size_t>(Family::kMeta) * family.arms * kLanes), final_pulls(family.arms * kLanes) {}

  void start(const Family& family, const Address& address, std::uint32_t rollout, std::uint32_t first_episode) {
    keys = Keys(address, kPolicy, rollout, first_episode);
    std::fill(pulls.begin(), pulls.end(), Real(0));
    std::fill(total.begin(), total.end(), Real(0));
    std::fill(scores.begin(), scores.end(), Real(0));
    family.start(cache);
  }

  // The belief after the arm's reward.
  void learn(const Family& family) {
    Lanes<Real> counts, sums;
    TSGRAD_EACH_LANE {
      const std::size_t at = arm[l] * kLanes + l;
      counts[l] = pulls[at] += 1, sums[l] = total[at] += reward[l];
    }
    family.renew(cache, arm, counts, sums);
  }

  typename Family::Cache cache;
  Keys keys;
  Buffer<Real> pulls, total;   // [K][lanes], the belief
  Buffer<Real> scores;         // [meta-parameter][K][lanes]
  Buffer<Real> final_pulls;    // [K][lanes], for `fin`
  Arms<Real> arm;
  Lanes<Real> mean, reward, value;  // of the arm played; what the metric makes of it
};

// A group of episodes: their instances, and all of their runs. Lives as long as a thread and is used again.
template <class Family>
class Group {
 public:
  using Real = typename Family::Real;

  Group(const Family& family, const Plan& plan)
      : family_(family), plan_(plan), size_(static_cast<std::size_t>(family.arms) * kLanes), theta_(size_),
        table_total_(size_), table_past_(size_), gradient(Family::kMeta * size_) {
    for (int r = 0; r < plan.rollouts; ++r) runs_.emplace_back(family);
  }

  // Plays the episodes from `first` on, for their regret; `seen` is told of every step.
  template <class Seen>
  void simulate(std::uint32_t first, Seen&& seen) {
    begin(first);
    Run<Family>& run = runs_[0];
    for (int t = 1; t <= family_.horizon; ++t) {
      if (stopped(t)) return;
      step<false, false, false>(run, t);
      seen(t, run, best_mean_);
      run.learn(family_);
    }
  }

  // Plays the episodes from `first` on, for the gradient [meta-parameter][K][lanes] and the regret.
  void differentiate(std::uint32_t first) {
    begin(first);
    std::fill(gradient.begin(), gradient.end(), Real(0));
    if (plan_.metric == Metric::kFin) {
      plan_.single_time ? play<false, true>() : play<false, false>();
    } else {
      plan_.single_time ? play<true, true>() : play<true, false>();
    }
    for (Real& sum : gradient) sum /= plan_.rollouts;
    TSGRAD_EACH_LANE regret[l] /= plan_.rollouts;
  }

 private:
  void begin(std::uint32_t first) {
    reward_keys_ = Keys(plan_.address, kReward, 0, first);
    family_.draw_world(Keys(plan_.address, kWorld, 0, first), theta_.data());
    for (int k = 0; k < family_.arms; ++k)
      TSGRAD_EACH_LANE {
        const Real mean = theta_[k * kLanes + l];
        const bool better = k == 0 || mean > best_mean_[l];
        best_mean_[l] = better ? mean : best_mean_[l];
        best_arm_[l] = better ? k : best_arm_[l];
      }
    const Keys time_keys(plan_.address, kTime, 0, first);
    TSGRAD_EACH_LANE {
      const Real horizon = Real(family_.horizon);
      chosen_time_[l] = std::min(std::ceil(uniform_at<Real>(time_keys[l], 0, 0) * horizon), horizon);
    }
    for (int r = 0; r < plan_.rollouts; ++r) runs_[r].start(family_, plan_.address, r, first);
    regret.fill(0);
    best_total_.fill(0);
  }

  // One decision and its reward.
  template <bool Score, bool Keep, bool Factor>
  void step(Run<Family>& run, int t) {
    Lanes<Real> factor;
    if constexpr (Factor)
      TSGRAD_EACH_LANE factor[l] = chosen_time_[l] == Real(t) ? Real(family_.horizon) : Real(0);
    family_.template draw<Score, Keep, Factor>(run.cache, run.keys, run.pulls.data(), run.total.data(), t, factor,
                                               run.scores.data(), run.arm);
    TSGRAD_EACH_LANE run.mean[l] = theta_[run.arm[l] * kLanes + l];
    family_.rewards(reward_keys_, t, run.arm, run.mean, run.reward);
  }

  // All runs in step. A separable metric needs no look back: with advantage a_s at step s and running score
  // E_s = sum_{t <= s} S_t, the gradient is sum_s E_s a_s. `fin` knows its whole weight at t, from a first pass.
  template <bool Separable, bool Single>
  void play() {
    if constexpr (!Separable) look_at_the_end();
    for (int t = 1; t <= family_.horizon; ++t) {
      if (stopped(t)) return;
      if constexpr (!Separable)
        for (Run<Family>& run : runs_) finite_sample_value(run, t);
      for (Run<Family>& run : runs_) {
        step<true, Separable, Single>(run, t);
        if constexpr (Separable) separable_value(run);
        TSGRAD_EACH_LANE regret[l] += best_mean_[l] - run.mean[l];
      }
      subtract_baseline<Separable>(t);
      for (Run<Family>& run : runs_) {
        accumulate(run);
        run.learn(family_);
      }
      if constexpr (!Separable) see_table(t, table_past_);
    }
  }

  void accumulate(const Run<Family>& run) {
    const Lanes<Real> weight = run.value;
    for (std::size_t row = 0; row < Family::kMeta * size_; row += kLanes) {
      const Real* const score = run.scores.data() + row;
      Real* const sum = gradient.data() + row;
      TSGRAD_EACH_LANE sum[l] += score[l] * weight[l];
    }
  }

  void separable_value(Run<Family>& run) {
    TSGRAD_EACH_LANE {
      const std::size_t at = run.arm[l] * kLanes + l;
      run.value[l] = plan_.metric == Metric::kObs    ? run.reward[l]
                     : plan_.metric == Metric::kMean ? run.mean[l]
                                                     : family_.posterior_mean(run.arm[l], run.pulls[at], run.total[at]);
    }
  }

  template <bool Separable>
  void subtract_baseline(int t) {
    Lanes<Real> sum;
    sum.fill(0);
    if (plan_.baseline == Baseline::kNull) return;
    if (plan_.baseline == Baseline::kSelf) {
      for (const Run<Family>& run : runs_)
        TSGRAD_EACH_LANE sum[l] += run.value[l];
      for (Run<Family>& run : runs_)
        TSGRAD_EACH_LANE run.value[l] -= (sum[l] - run.value[l]) / (plan_.rollouts - 1);
      return;
    }
    Run<Family>& run = runs_[0];  // an oracle needs no other runs
    if constexpr (!Separable) {
      TSGRAD_EACH_LANE
        run.value[l] -= (family_.horizon - t + 1) * estimate(run, t, best_arm_[l], l);
    } else if (plan_.metric == Metric::kMean) {
      TSGRAD_EACH_LANE run.value[l] -= best_mean_[l];
    } else {
      Lanes<Real> reward;
      family_.rewards(reward_keys_, t, best_arm_, best_mean_, reward);
      TSGRAD_EACH_LANE {
        const Real expected = family_.posterior_mean(best_arm_[l], Real(t - 1), best_total_[l]);
        run.value[l] -= plan_.metric == Metric::kObs ? reward[l] : expected;
        best_total_[l] += reward[l];
      }
    }
  }

  // For `fin`: how often each run pulls each arm in all, and what every arm would have paid in all.
  void look_at_the_end() {
    for (Run<Family>& run : runs_) {
      for (int t = 1; t <= family_.horizon; ++t) {
        if (stopped(t)) return;
        step<false, false, false>(run, t);
        run.learn(family_);
      }
      run.final_pulls = run.pulls;
      std::fill(run.pulls.begin(), run.pulls.end(), Real(0));
      std::fill(run.total.begin(), run.total.end(), Real(0));
      family_.start(run.cache);
    }
    std::fill(table_total_.begin(), table_total_.end(), Real(0));
    std::fill(table_past_.begin(), table_past_.end(), Real(0));
    for (int t = 1; t <= family_.horizon; ++t) see_table(t, table_total_);
  }

  void see_table(int t, Buffer<Real>& sums) {
    Arms<Real> arm;
    Lanes<Real> mean, reward;
    for (int k = 0; k < family_.arms; ++k) {
      arm.fill(k);
      TSGRAD_EACH_LANE mean[l] = theta_[k * kLanes + l];
      family_.rewards(reward_keys_, t, arm, mean, reward);
      TSGRAD_EACH_LANE sums[k * kLanes + l] += reward[l];
    }
  }

  // The mean of arm k as well as it can be known at the end, if from t on it alone were pulled.
  Real estimate(const Run<Family>& run, int t, int k, int l) const {
    const std::size_t at = static_cast<std::size_t>(k) * kLanes + l;
    return family_.posterior_mean(k, run.pulls[at] + (family_.horizon - t + 1),
                                  run.total[at] + (table_total_[at] - table_past_[at]));
  }

  void finite_sample_value(Run<Family>& run, int t) const {
    run.value.fill(0);
    for (int k = 0; k < family_.arms; ++k)
      TSGRAD_EACH_LANE {
        const std::size_t at = static_cast<std::size_t>(k) * kLanes + l;
        run.value[l] += (run.final_pulls[at] - run.pulls[at]) * estimate(run, t, k, l);
      }
  }

  bool stopped(int t) const { return t % 256 == 0 && plan_.stop->load(std::memory_order_relaxed); }

  const Family& family_;
  const Plan& plan_;
  const std::size_t size_;
  std::vector<Run<Family>> runs_;
  Keys reward_keys_;
  Buffer<Real> theta_, table_total_, table_past_;  // [K][lanes]
  Lanes<Real> best_mean_, best_total_, chosen_time_;
  Arms<Real> best_arm_;

 public:
  Buffer<Real> gradient;  // [meta-parameter][K][lanes]
  Lanes<Real> regret;
};

}  // namespace tsgrad
