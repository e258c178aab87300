// The law of randomness: a random number is a function of its address. The same law as tsgrad/streams.py.
//
// Everything here is scalar, branch-free code, meant to be inlined into a loop over lanes that the compiler turns into
// SIMD. Logarithm, sine and cosine are our own, from their series: library versions differ between instruction sets.

#pragma once

#include <cmath>
#include <cstdint>

namespace tsgrad {

constexpr int kLanes = 16;    // episodes in a group: a fixed width, so that no result depends on the machine's
constexpr int kBlock = 256;   // episodes in a block, as in tsgrad/simulation/workload.py

// A loop over the episodes of a group. They have nothing to do with each other, which spares the compiler the checks
// that arrays don't overlap.
#define TSGRAD_EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < kLanes; ++l)

// Lane loops vectorise only if everything they call is inlined.
#define TSGRAD_INLINE inline __attribute__((always_inline))

enum Stream : std::uint32_t { kWorld = 0, kReward = 1, kPolicy = 3, kTime = 6 };

struct Words {
  std::uint32_t first, second;
};

TSGRAD_INLINE std::uint32_t rotate(std::uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }

TSGRAD_INLINE Words threefry(Words key, std::uint32_t c0, std::uint32_t c1) {
  const std::uint32_t third = key.first ^ key.second ^ 0x1BD11BDAu;
  std::uint32_t x = c0 + key.first, y = c1 + key.second;
#define TSGRAD_ROUND(by) x += y, y = rotate(y, by) ^ x
#define TSGRAD_EVEN TSGRAD_ROUND(13), TSGRAD_ROUND(15), TSGRAD_ROUND(26), TSGRAD_ROUND(6)
#define TSGRAD_ODD TSGRAD_ROUND(17), TSGRAD_ROUND(29), TSGRAD_ROUND(16), TSGRAD_ROUND(24)
  TSGRAD_EVEN, x += key.second, y += third + 1;
  TSGRAD_ODD, x += third, y += key.first + 2;
  TSGRAD_EVEN, x += key.first, y += key.second + 3;
  TSGRAD_ODD, x += key.second, y += third + 4;
  TSGRAD_EVEN, x += third, y += key.first + 5;
#undef TSGRAD_ODD
#undef TSGRAD_EVEN
#undef TSGRAD_ROUND
  return {x, y};
}

// Where the episodes of a call live; the episode completes the address.
struct Address {
  std::uint32_t seed_high, seed_low, purpose, iteration;

  TSGRAD_INLINE Words key(Stream stream, std::uint32_t rollout, std::uint32_t episode) const {
    Words folded = threefry({0, 0}, seed_high, seed_low);
    folded = threefry(folded, purpose, stream);
    folded = threefry(folded, iteration, rollout);
    return threefry(folded, 0, episode);
  }
};

// Bits of a floating-point number, for taking exponents off and putting them on.
template <class Real>
struct Bits;
template <>
struct Bits<float> {
  using Integer = std::int32_t;
  static constexpr int kMantissa = 23, kBias = 127, kLogTerms = 5, kCircleTerms = 5, kExpTerms = 8;
};
template <>
struct Bits<double> {
  using Integer = std::int64_t;
  static constexpr int kMantissa = 52, kBias = 1023, kLogTerms = 11, kCircleTerms = 9, kExpTerms = 14;
};

template <class To, class From>
TSGRAD_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// (w + 1/2) / 2^32; hi16 * 65536 + lo16 is exact in parts and converts from signed integers only, which vectorises.
template <class Real>
TSGRAD_INLINE Real uniform(std::uint32_t word) {
  const Real high = static_cast<Real>(static_cast<std::int32_t>(word >> 16));
  const Real low = static_cast<Real>(static_cast<std::int32_t>(word & 0xFFFFu));
  return (high * Real(65536) + low + Real(0.5)) * Real(0x1p-32);
}

// log x = e log 2 + 2 artanh((m - 1) / (m + 1)) with x = m 2^e, m within a factor sqrt 2 of 1.
template <class Real>
TSGRAD_INLINE Real logarithm(Real x) {
  using Integer = typename Bits<Real>::Integer;
  constexpr int mantissa = Bits<Real>::kMantissa;
  // Subtracting the bits of sqrt(1/2) first makes the split at sqrt(1/2) instead of at 1.
  const Integer split = bit_cast<Integer>(Real(0.70710678118654752));
  const Integer bits = bit_cast<Integer>(x) - split;
  const Integer exponent = bits >> mantissa;
  const Real m = bit_cast<Real>(Integer((bits & ((Integer(1) << mantissa) - 1)) + split));
  const Real s = (m - 1) / (m + 1), square = s * s;
  Real series = Real(1) / (2 * Bits<Real>::kLogTerms - 1);
  for (int n = Bits<Real>::kLogTerms - 2; n >= 0; --n) series = series * square + Real(1) / (2 * n + 1);
  const Real e = static_cast<Real>(static_cast<std::int32_t>(exponent));
  constexpr Real high = Real(0x1.62e4p-1), low = Real(0.69314718055994530942 - 0x1.62e4p-1);
  return e * high + (2 * s * series + e * low);
}

template <class Real>
struct Circle {
  Real cosine, sine;
};

// Cosine and sine of 2 pi w / 2^32: w is split exactly into quarter turns and a rest of at most an eighth of a turn.
template <class Real>
TSGRAD_INLINE Circle<Real> circle(std::uint32_t w) {
  const std::uint32_t quarter = (w + 0x20000000u) >> 30;
  const std::int32_t rest = static_cast<std::int32_t>(w - (quarter << 30));
  const Real x = static_cast<Real>(rest) * Real(6.283185307179586476925 / 4294967296.0), square = x * x;
  constexpr int terms = Bits<Real>::kCircleTerms;
  Real c = 1, s = 1;
  for (int n = terms; n >= 1; --n) {
    c = 1 - c * square * (Real(1) / ((2 * n) * (2 * n - 1)));
    s = 1 - s * square * (Real(1) / ((2 * n) * (2 * n + 1)));
  }
  s = s * x;
  const bool swapped = quarter & 1u;
  const Real near = swapped ? s : c, far = swapped ? c : s;
  return {((quarter + 1u) & 2u) ? -near : near, (quarter & 2u) ? -far : far};
}

template <class Real>
struct NormalPair {
  Real even, odd;  // slots 2j and 2j + 1
};

template <class Real>
TSGRAD_INLINE NormalPair<Real> normal_pair(Words key, std::uint32_t t, std::uint32_t j) {
  const Words words = threefry(key, t, j);
  const Real radius = std::sqrt(Real(-2) * logarithm(uniform<Real>(words.first)));
  const Circle<Real> angle = circle<Real>(words.second);
  return {radius * angle.cosine, radius * angle.sine};
}

template <class Real>
TSGRAD_INLINE Real normal(Words key, std::uint32_t t, std::uint32_t slot) {
  const NormalPair<Real> pair = normal_pair<Real>(key, t, slot >> 1);
  return (slot & 1u) ? pair.odd : pair.even;
}

template <class Real>
TSGRAD_INLINE Real uniform_at(Words key, std::uint32_t t, std::uint32_t slot) {
  const Words words = threefry(key, t, slot >> 1);
  return uniform<Real>((slot & 1u) ? words.second : words.first);
}

}  // namespace tsgrad
