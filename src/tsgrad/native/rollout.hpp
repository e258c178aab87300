// One rollout of a group of episodes: what it believes, keeps and scores.

#pragma once

#include "parameters.hpp"

namespace tsgrad {

// A kind of arms and a law over them: what the engine plays. Worlds and rewards are those of `truth`, beliefs and the law
// those of `arms`, the model, which mostly is the same.
template <class ArmsType, class LawType>
struct Kernel {
  using Arms = ArmsType;
  using Law = LawType;
  using Real = typename Arms::Real;

  Kernel(const Fields& nature, const Fields& problem, const Fields& policy, int steps)
      : horizon(steps), truth(nature), arms(problem), law(arms, policy, steps) {
    if (truth.count != arms.count) throw std::invalid_argument("truth and model must have as many arms");
    nature.check_all_read();
    problem.check_all_read();
    policy.check_all_read();
  }
  Kernel(const Kernel&) = delete;  // laws know their arms by reference

  const int horizon;
  const Arms truth, arms;
  const Law law;
};

template <class Kernel>
struct Rollout {
  using Real = typename Kernel::Real;

  explicit Rollout(const Kernel& kernel)
      : cache(kernel.arms.count), pulls(row_of(kernel.arms.count)), total(row_of(kernel.arms.count)),
        scores(row_count(kernel.law.score()) * kLanes), final_pulls(row_of(kernel.arms.count)) {}

  void start(const Kernel& kernel, const Address& address, std::uint32_t number, std::uint32_t first_episode) {
    keys = Keys(address, kPolicy, number, first_episode);
    std::fill(scores.begin(), scores.end(), Real(0));
    forget(kernel);
  }

  // Back to the prior.
  void forget(const Kernel& kernel) {
    std::fill(pulls.begin(), pulls.end(), Real(0));
    std::fill(total.begin(), total.end(), Real(0));
    kernel.law.start(cache);
  }

  // The belief after the arm's reward; `arm`, `plays` and `reward` are those of the last step.
  void learn(const Kernel& kernel) {
    const Lanes<Real> evidence = kernel.arms.evidence(arm, reward);
    Lanes<Real> sums;
    TSGRAD_EACH_LANE {
      const std::size_t at = arm[l] * kLanes + l;
      pulls[at] = plays[l], sums[l] = total[at] += evidence[l];
    }
    kernel.law.renew(cache, arm, plays, sums);
  }

  Belief<Real> belief() const { return {pulls.data(), total.data()}; }

  typename Kernel::Law::Cache cache;
  Keys keys;
  Buffer<Real> pulls, total;  // [K][lanes], the belief
  Buffer<Real> scores;        // [row][lanes]
  Buffer<Real> final_pulls;   // [K][lanes], for `fin`
  Choice<Real> arm;
  Lanes<Real> plays;                // how often the arm was played, this time too
  Lanes<Real> mean, reward, value;  // of the arm played; what the metric makes of it
};

}  // namespace tsgrad
