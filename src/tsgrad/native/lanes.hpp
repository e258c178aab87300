// Arrays over a group of episodes: [rows][lanes], aligned for the widest instruction set.

#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "random.hpp"

namespace tsgrad {

template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
  bool operator==(const Aligned&) const { return true; }
};

template <class T>
using Buffer = std::vector<T, Aligned<T>>;

// One value for each episode of a group.
template <class T>
struct alignas(64) Lanes {
  T at[kLanes];

  T& operator[](int lane) { return at[lane]; }
  T operator[](int lane) const { return at[lane]; }
  void fill(T value) {
    TSGRAD_EACH_LANE at[l] = value;
  }
};

// One arm for each episode, as integers of the width of Real: comparing numbers and choosing arms use the same masks.
template <class Real>
using Choice = Lanes<typename Bits<Real>::Integer>;

// One number an arm, [K], that lanes look up for their own arm. Where all arms have the same, as they mostly do, nothing
// is looked up: that takes longer than most of what is done with it.
template <class Real>
class ArmValues {
 public:
  void push_back(Real value) {
    alike_ = alike_ && (values_.empty() || value == values_[0]);
    values_.push_back(value);
  }

  Real operator[](int k) const { return values_[k]; }

  TSGRAD_INLINE Lanes<Real> of(const Choice<Real>& arm) const {
    Lanes<Real> found;
    if (alike_)
      found.fill(values_[0]);
    else
      TSGRAD_EACH_LANE found[l] = values_[arm[l]];
    return found;
  }

 private:
  std::vector<Real> values_;
  bool alike_ = true;
};

// Which play of an arm it is, for each episode, counted from 1.
using Turns = Lanes<std::uint32_t>;

template <class Real>
TSGRAD_INLINE Turns turns(const Lanes<Real>& plays) {
  Turns turn;
  TSGRAD_EACH_LANE turn[l] = static_cast<std::uint32_t>(plays[l]);
  return turn;
}

// Where the row of arm k starts in an array [K][lanes].
TSGRAD_INLINE std::size_t row_of(int k) { return static_cast<std::size_t>(k) * kLanes; }

// The keys of a group's episodes, in one stream.
struct Keys {
  Lanes<std::uint32_t> first, second;

  Keys() = default;
  Keys(const Address& address, Stream stream, std::uint32_t rollout, std::uint32_t first_episode) {
    TSGRAD_EACH_LANE {
      const Words key = address.key(stream, rollout, first_episode + l);
      first[l] = key.first, second[l] = key.second;
    }
  }
  Words operator[](int lane) const { return {first[lane], second[lane]}; }
};

}  // namespace tsgrad
