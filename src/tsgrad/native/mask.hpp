// Masks: which arms can be played at each step. The same for all episodes, so that no lane asks by itself.

#pragma once

#include <algorithm>

#include "lanes.hpp"

namespace tsgrad {

// The arms that can be played at one step.
struct Open {
  const bool* arms;  // [K], or nothing where all are open
  int first;         // the lowest of them

  bool operator()(int k) const { return !arms || arms[k]; }
};

class Mask {
 public:
  Mask(const bool* available, int arms) : available_(available), arms_(arms) {}

  explicit operator bool() const { return available_; }

  Open at(int t) const {
    if (!available_) return {nullptr, 0};
    const bool* const row = available_ + static_cast<std::size_t>(t - 1) * arms_;
    return {row, static_cast<int>(std::find(row, row + arms_, true) - row)};
  }

 private:
  const bool* available_;  // [T][K], at least one arm a step; or nothing
  int arms_;
};

// The largest of the values that arms are offered with, and in `arm` whose it is; ties go to the lowest arm.
template <class Real>
class Winner {
 public:
  Winner(const Open& open, Choice<Real>& arm) : open_(open), arm_(arm.at) {}

  // The first arm is told apart outside of the loop: a branch within it keeps the stores from being vectorised.
  template <class Value>
  TSGRAD_INLINE void offer(int k, const Value& value_of_lane) {
    if (k == open_.first) {
      TSGRAD_EACH_LANE best[l] = value_of_lane(l), arm_[l] = k;
    } else if (open_(k)) {
      TSGRAD_EACH_LANE {
        const Real value = value_of_lane(l);
        const bool better = value > best[l];
        best[l] = better ? value : best[l];
        arm_[l] = better ? typename Bits<Real>::Integer(k) : arm_[l];
      }
    }
  }

  Lanes<Real> best;

 private:
  const Open open_;
  typename Bits<Real>::Integer* const arm_;
};

}  // namespace tsgrad
