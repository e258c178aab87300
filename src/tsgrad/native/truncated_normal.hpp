// Normal laws cut off at a threshold: what is expected of a residual, given who won and what the others drew.
// The formulas are those of NormalLaw.expected_log_prob in tsgrad/laws/normal.py.

#pragma once

#include <cmath>
#include <iterator>
#include <utility>

#include "contest.hpp"
#include "special.hpp"

namespace tsgrad {

// (1 + x) times Mills' ratio, for x >= 0, as a polynomial in (x - 3) / (x + 3), highest power first; as in Python.
template <class Real>
struct Mills;
template <>
struct Mills<float> {
  static constexpr float kCoefficients[] = {
      0.000156963681, 9.00673226e-05, -0.0012064095, -0.000916795842, 0.00750259444, 0.00291853079,
      -0.0569675268, 0.11320777, -0.0411897208, -0.24195664, 1.21836119};
};
template <>
struct Mills<double> {
  static constexpr double kCoefficients[] = {
      -3.2348274860693062e-08, 3.9024440490681191e-09, 2.7427955975998997e-07, 1.119143511776042e-07,
      -1.0789077825155915e-06, -1.3430443410154267e-06, 2.0318400303316904e-06, 7.1162571064474909e-06,
      3.0496338022994304e-06, -2.3334704574944741e-05, -4.5596354904931942e-05, 4.3778625744696754e-05,
      0.00026069195493752648, 4.3611788851565138e-05, -0.001302591125715132, -0.00088906961542781313,
      0.0075431174058759399, 0.0029096734172032201, -0.056974623913366877, 0.11320908341291526,
      -0.041189368646842542, -0.24195670061201902, 1.2183611948404147};
};

// Unrolled: a loop within a loop over lanes keeps that from being vectorised.
template <class Real, std::size_t... I>
TSGRAD_INLINE Real mills_series(Real x, std::index_sequence<I...>) {
  Real sum = 0;
  ((sum = sum * x + Mills<Real>::kCoefficients[I]), ...);
  return sum;
}

// E[z | z > x] of a standard normal z.
template <class Real>
TSGRAD_INLINE Real hazard(Real x) {
  const Real size = std::abs(x), mapped = (size - 3) / (size + 3);
  const Real mills = mills_series(mapped, std::make_index_sequence<std::size(Mills<Real>::kCoefficients)>{}) / (1 + size);
  const Real density = exponential(Real(-0.5) * size * size) * Real(0.39894228040143267794);
  // 1 / mills above zero, density / (1 - density mills) below; weighted, since GCC makes branches of a choice between
  // quotients, and vectorises nothing then.
  const Real above = x > 0 ? Real(1) : Real(0), below = 1 - above;
  return (above + below * density) / (above * mills + below * (1 - density * mills));
}

// E[z] and E[z^2 - 1] of arm k's residual; zero where it had no part in a choice.
template <class Real, class Location, class Scale>
TSGRAD_INLINE void expect_residual(const Contest<Real, true>& contest, int k, const Location& location,
                                   const Scale& scale, Lanes<Real>& first, Lanes<Real>& square) {
  if (!contest.chosen_among(k)) {
    first.fill(0), square.fill(0);
    return;
  }
  constexpr Real far = Real(1e4);
  TSGRAD_EACH_LANE {
    const Real cut = (contest.threshold(k, l) - location(l)) / scale(l);
    const Real near = cut < -far ? -far : cut > far ? far : cut;
    const Real side = contest.won(k, l) ? Real(1) : Real(-1);
    first[l] = side * hazard(side * near);
    square[l] = near * first[l];
  }
}

}  // namespace tsgrad
