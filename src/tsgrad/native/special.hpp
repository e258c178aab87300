// Special functions that vectorise: exponential, logarithms near one, digamma. Our own, from their series, as in random.hpp.

#pragma once

#include "random.hpp"

namespace tsgrad {

// exp x = 2^n exp(r) with |r| <= log(2) / 2, by its series: exp(r) - 1 and 2^n. x is clamped to where the result is a
// normal number.
template <class Real>
struct ExponentialParts {
  Real less_one, power;
};

template <class Real>
TSGRAD_INLINE ExponentialParts<Real> exponential_parts(Real x) {
  using Integer = typename Bits<Real>::Integer;
  constexpr Real limit = Real(Bits<Real>::kBias - 2) * Real(0.69314718055994530942);
  x = x < -limit ? -limit : x > limit ? limit : x;
  constexpr Real high = Real(0x1.62e4p-1), low = Real(0.69314718055994530942 - 0x1.62e4p-1);
  // Beside a number this large there is no room for fractions: the sum rounds, and its last bits are n.
  constexpr Real large = Real(3) * Real(Integer(1) << (Bits<Real>::kMantissa - 1));
  const Real shifted = x * Real(1.44269504088896340736) + large, whole = shifted - large;
  const Integer n = bit_cast<Integer>(shifted) - bit_cast<Integer>(large);
  const Real rest = (x - whole * high) - whole * low;
  Real series = 1;
  for (int k = Bits<Real>::kExpTerms; k >= 2; --k) series = 1 + series * rest * (Real(1) / k);
  return {series * rest, bit_cast<Real>(Integer((n + Bits<Real>::kBias) << Bits<Real>::kMantissa))};
}

template <class Real>
TSGRAD_INLINE Real exponential(Real x) {
  const ExponentialParts<Real> parts = exponential_parts(x);
  return (1 + parts.less_one) * parts.power;
}

// exp x - 1, which keeps its digits where x is small.
template <class Real>
TSGRAD_INLINE Real exponential_m1(Real x) {
  const ExponentialParts<Real> parts = exponential_parts(x);
  return parts.less_one * parts.power + (parts.power - 1);
}

// log(1 + x): the logarithm of the rounded sum, corrected for what rounding lost.
template <class Real>
TSGRAD_INLINE Real logarithm_1p(Real x) {
  const Real sum = 1 + x, lost = x - (sum - 1);
  return logarithm(sum) + lost / sum;
}

// log of 1 / (1 + exp(-x))
template <class Real>
TSGRAD_INLINE Real log_sigmoid(Real x) {
  const Real tail = logarithm_1p(exponential(x < 0 ? x : -x));
  return (x < 0 ? x : Real(0)) - tail;
}

// log x - digamma(x), by its asymptotic series, for x >= 8.
template <class Real>
TSGRAD_INLINE Real digamma_tail(Real x) {
  const Real inverse = 1 / x, square = inverse * inverse;
  Real series = Real(1.0 / 12);
  series = Real(-691.0 / 32760) + series * square;
  series = Real(1.0 / 132) + series * square;
  series = Real(-1.0 / 240) + series * square;
  series = Real(1.0 / 252) + series * square;
  series = Real(-1.0 / 120) + series * square;
  series = Real(1.0 / 12) + series * square;
  return inverse / 2 + series * square;
}

// digamma(x + y) - digamma(x), without the cancellation that float32 can't afford where x is large: both arguments are
// raised by the recurrence until x >= 8, then their logarithms are subtracted as one.
template <class Real>
TSGRAD_INLINE Real digamma_gap(Real x, Real y) {
  Real sum = 0;
  for (int n = 0; n < 8; ++n) {
    const bool small = x < 8;
    sum += small ? 1 / x - 1 / (x + y) : Real(0);
    x = small ? x + 1 : x;
  }
  return logarithm_1p(y / x) + digamma_tail(x) - digamma_tail(x + y) + sum;
}

}  // namespace tsgrad
