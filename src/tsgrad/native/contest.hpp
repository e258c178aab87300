// Contests: who of the arms drew most, and what is known of every draw once that is known.

#pragma once

#include "mask.hpp"

namespace tsgrad {

// The largest of the values that arms are offered with, in `arm` whose it is, and, with RunnerUp, the largest of the
// others. Ties go to the lowest arm.
template <class Real, bool RunnerUp = false>
class Contest {
 public:
  Contest(const Open& open, Choice<Real>& arm) : open_(open), arm_(arm.at) {}

  // The first arm is told apart outside of the loop: a branch within it keeps the stores from being vectorised. Choices
  // are made before they are stored: a store that leaves what is there becomes one under a mask, which is slow.
  template <class Value>
  TSGRAD_INLINE void offer(int k, const Value& value_of_lane) {
    if (k == open_.first) {
      TSGRAD_EACH_LANE best_[l] = value_of_lane(l), arm_[l] = k;
      if constexpr (RunnerUp) second_.fill(Real(-1e30));
      ++offers_;
    } else if (open_(k)) {
      TSGRAD_EACH_LANE {
        const Real value = value_of_lane(l), best = best_[l];
        const auto arm = arm_[l];
        const bool better = value > best;
        if constexpr (RunnerUp) {
          const Real behind = better ? best : value, second = second_[l], larger = behind > second ? behind : second;
          second_[l] = larger;
        }
        const Real larger = better ? value : best;
        const auto winner = better ? typename Bits<Real>::Integer(k) : arm;
        best_[l] = larger, arm_[l] = winner;
      }
      ++offers_;
    }
  }

  const Lanes<Real>& best() const { return best_; }

  // Whether arm k had a part in a choice: it was open, and not alone.
  bool chosen_among(int k) const { return offers_ > 1 && open_(k); }

  TSGRAD_INLINE bool won(int k, int l) const { return arm_[l] == typename Bits<Real>::Integer(k); }

  // What arm k's value is known to lie above, if it won, or below.
  TSGRAD_INLINE Real threshold(int k, int l) const {
    static_assert(RunnerUp);
    const Real best = best_[l], second = second_[l];  // both read, so that neither is read under a condition
    return won(k, l) ? second : best;
  }

 private:
  const Open open_;
  typename Bits<Real>::Integer* const arm_;
  Lanes<Real> best_, second_;
  int offers_ = 0;
};

}  // namespace tsgrad
