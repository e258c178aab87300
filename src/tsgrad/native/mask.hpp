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

}  // namespace tsgrad
