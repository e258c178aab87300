// The oracle: plays the best available arm of every step. Without a mask that is one arm, found once an episode.

#pragma once

#include "contest.hpp"

namespace tsgrad {

template <class Arms>
class Oracle {
 public:
  using Real = typename Arms::Real;

  Oracle(const Arms& truth, const Arms& arms, const Mask& mask)
      : truth_(truth), arms_(arms), mask_(mask), pulls_(row_of(arms.count)), total_(row_of(arms.count)),
        left_(mask ? row_of(arms.count) : 0) {}

  // At the first step of the episodes with these worlds [K][lanes], at the prior.
  void start(const Real* theta) {
    theta_ = theta;
    find_best(1);
    std::fill(pulls_.begin(), pulls_.end(), Real(0));
    std::fill(total_.begin(), total_.end(), Real(0));
  }

  void go_to(int t) {
    if (mask_) find_best(t);
  }

  // The reward of the arm it plays, and what the oracle expected of it, having seen nothing but its own rewards.
  void play(const Keys& reward_keys, Lanes<Real>& reward, Lanes<Real>& expected) {
    Lanes<Real> pulls, plays, total;
    TSGRAD_EACH_LANE {
      const std::size_t at = arm[l] * kLanes + l;
      pulls[l] = pulls_[at], total[l] = total_[at];
      plays[l] = pulls[l] + 1;
    }
    truth_.rewards(reward_keys, turns(plays), arm, mean, reward);
    expected = arms_.posterior_means(arm, pulls, total);
    const Lanes<Real> evidence = arms_.evidence(arm, reward);
    TSGRAD_EACH_LANE {
      const std::size_t at = arm[l] * kLanes + l;
      pulls_[at] = plays[l], total_[at] = total[l] + evidence[l];
    }
  }

  // With a mask: how often each arm will be the best one from here on, [K][lanes].
  void look_ahead(int horizon) {
    std::fill(left_.begin(), left_.end(), Real(0));
    for (int t = 1; t <= horizon; ++t) {
      find_best(t);
      TSGRAD_EACH_LANE left_[arm[l] * kLanes + l] += 1;
    }
    find_best(1);
  }
  void pass_step() {
    TSGRAD_EACH_LANE left_[arm[l] * kLanes + l] -= 1;
  }
  const Real* left(int k) const { return left_.data() + row_of(k); }

  Choice<Real> arm;  // the best of the step
  Lanes<Real> mean;  // and its expected reward

 private:
  void find_best(int t) {
    Contest<Real> contest(mask_.at(t), arm);
    for (int k = 0; k < arms_.count; ++k) contest.offer(k, [&](int l) { return theta_[row_of(k) + l]; });
    mean = contest.best();
  }

  const Arms& truth_;  // who pays
  const Arms& arms_;   // what is believed
  const Mask mask_;
  const Real* theta_ = nullptr;
  Buffer<Real> pulls_, total_;  // [K][lanes], what it has seen
  Buffer<Real> left_;
};

}  // namespace tsgrad
