// What laws are made of. A law is a class template over its arms; docs/guides/add-a-native-law.md has a skeleton. It says
//
//   kName, kScored         what Python calls it; whether it has a score, hence gradients
//   kConditional           whether it has the conditional score too: what is expected of the score given who won
//   score()                the fields of the policy that can be differentiated, each with its rows [row][lanes]
//   Cache, start, renew    what it keeps between steps for each rollout, and renews for an arm when that was pulled
//   draw                   draws a value for each arm, offers it to the contest and writes the score, if asked
//
// Loops over lanes must be branch-free and call nothing but TSGRAD_INLINE functions.

#pragma once

#include <algorithm>
#include <cmath>

#include "contest.hpp"
#include "fields.hpp"

namespace tsgrad {

// What a rollout has seen of its arms, [K][lanes] each.
template <class Real>
struct Belief {
  const Real *pulls, *total;
};

// A law of which nothing is worth keeping: it changes at every step, or is cheap.
struct NoCache {
  explicit NoCache(int) {}
};

// Nobody asks for the score.
struct NoScore {
  static constexpr bool kAsked = false, kExpected = false;
};

// Where a step's score goes: times the factor of each episode, added to its row (Keep) or put in place of it. It is that
// of the draw, or what is expected of it given who won (Expected): the conditional score.
template <class Real, bool Keep, bool Factor, bool Expected>
struct StepScore {
  static constexpr bool kAsked = true, kExpected = Expected;
  Real* rows;  // [row][lanes], in the order of score()
  const Lanes<Real>& factor;

  TSGRAD_INLINE void put(Real* row, int l, Real score) const {
    row[l] = (Keep ? row[l] : 0) + (Factor ? factor[l] : Real(1)) * score;
  }

  // For what comes of the same step later.
  StepScore<Real, true, Factor, Expected> adding() const { return {rows, factor}; }
};

// The rows of the score in one field. They make as many meta-parameters as the field has numbers: one a row, or, where
// the field has fewer, sums of as many neighbouring rows as it takes (of all arms, where arms share the number).
struct ScoreRows {
  const char* field;
  std::size_t rows, parameters;

  static ScoreRows of_arms(const char* field, const PerArm& values, int arms) {
    const std::size_t rows = static_cast<std::size_t>(arms);
    return {field, rows, values.shared() ? 1 : rows};
  }
};

// A logarithm, at most `bound` from where plain Thompson sampling has it: bounded_exp in tsgrad/policies/reshaped.py.
struct Bounded {
  Bounded(double logarithm, double start, double bound)
      : value(std::exp(start + std::clamp(logarithm - start, -bound, bound))), moves(std::abs(logarithm - start) < bound) {}
  double value;
  bool moves;  // with the meta-parameters
};

}  // namespace tsgrad
