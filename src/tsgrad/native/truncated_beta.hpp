// Beta laws cut off at a threshold: what is expected of log x and log(1 - x), given that the draw x lies above or below.
//
// The mathematics is that of BetaLaw.expected_log_prob in tsgrad/laws/beta.py, with the rule of truncated.py: Gauss's, in
// the logit of x, on both sides of the peak. By symmetry (x for 1 - x) alpha is the smaller count throughout. Then the
// logarithm of the density rises by alpha d - (alpha + beta) log(1 + x (e^d - 1)) over a step d from x, without the
// difference of large numbers that it is in the other count.

#pragma once

#include <cmath>

#include "contest.hpp"
#include "special.hpp"

namespace tsgrad {

// Gauss's rule on [0, 1], whose points are as far from one end as from the other; and how far the logarithm of a density
// falls until the rest is less than rounding.
template <class Real>
struct GaussRule;
template <>
struct GaussRule<float> {
  static constexpr int kPairs = 6;
  static constexpr float kFall = 17;
  static constexpr float kPoints[kPairs] = {
      0.00921968288, 0.0479413718, 0.115048663, 0.206341023, 0.316084251, 0.437383296};
  static constexpr float kWeights[kPairs] = {
      0.0235876682, 0.053469663, 0.0800391643, 0.101583713, 0.116746268, 0.124573523};
};
template <>
struct GaussRule<double> {
  static constexpr int kPairs = 20;
  static constexpr double kFall = 37;
  static constexpr double kPoints[kPairs] = {
      0.0008811451447204299, 0.004636880650271513, 0.01137002500811285, 0.02104159039310416,
      0.03359359586066174, 0.04895059651556288, 0.06702024839387027, 0.08769388458334415, 0.11084717428674029,
      0.13634087240503645, 0.16402165769291022, 0.1937230551660099, 0.2252664374524359, 0.25846209915691065,
      0.2931103978141975, 0.32900295458712076, 0.36592390749637316, 0.40365120964931445, 0.4419579646623724,
      0.48061379124697456};
  static constexpr double kWeights[kPairs] = {
      0.0022606385492681745, 0.005249142265576907, 0.008210529190953414, 0.011122924597083327,
      0.013968503490011717, 0.016730097641273946, 0.019391083987236095, 0.021935454092836607,
      0.024347903817535967, 0.02661392349196835, 0.028719884549695644, 0.030653121246464417,
      0.03240200672830038, 0.03395602290761684, 0.03530582369564328, 0.036443291197901885, 0.03736158452898397,
      0.03805518095031299, 0.03851990908212381, 0.03875297398921226};
};

// The laws of one arm, one a lane. What is computed from one number after the other stands in loops of its own, over all
// nodes and lanes, so that the processor always has others to go on with.
template <class Real>
class TruncatedBeta {
 public:
  // For arm k, which had a part in the contest of the logits.
  TruncatedBeta(const Contest<Real, true>& contest, int k, const Lanes<Real>& alpha, const Lanes<Real>& beta) {
    Lanes<Real> mode, inside;
    Choice<Real> above;
    TSGRAD_EACH_LANE {
      const bool turned = alpha[l] > beta[l];
      turned_[l] = turned, above[l] = contest.won(k, l) != turned;
      const Real smaller = turned ? beta[l] : alpha[l], larger = turned ? alpha[l] : beta[l];
      alpha_[l] = smaller, total_[l] = smaller + larger, mode[l] = logarithm(smaller / larger);
    }
    TSGRAD_EACH_LANE {
      const Real threshold = contest.threshold(k, l), cut = turned_[l] ? -threshold : threshold;
      inside[l] = above[l] ? mode[l] - cut : cut - mode[l];  // how far the mode is on the side that is kept
      peak_[l] = inside[l] > 0 ? mode[l] : cut;
      value_[l] = exponential(log_sigmoid(peak_[l]));
    }
    Lanes<Real> reach[2];
    for (int side = 0; side < 2; ++side) find_reach(side, reach[side]);
    TSGRAD_EACH_LANE {
      const Real left = reach[0][l], right = reach[1][l], inner = above[l] ? left : right;
      const Real within = inner < inside[l] ? inner : inside[l], kept = inside[l] > 0 ? within : Real(0);
      reach[0][l] = above[l] ? kept : left, reach[1][l] = above[l] ? right : kept;
    }
    for (int side = 0; side < 2; ++side)
      TSGRAD_EACH_LANE {
        grading_[side][l] = reach[side][l] * Real(1.0 / 20);
        scale_[side][l] = reach[side][l] / (1 + grading_[side][l]);
      }
  }

  // E[log x] and E[log(1 - x)].
  void expect(Lanes<Real>& log_value, Lanes<Real>& log_complement) const {
    Lanes<Real> mass, mean_step, mean_fallen;
    mass.fill(0), mean_step.fill(0), mean_fallen.fill(0);
    for (int side = 0; side < 2; ++side)
      for (int pair = 0; pair < Rule::kPairs; pair += kTogether) add_nodes(side, pair, mass, mean_step, mean_fallen);
    TSGRAD_EACH_LANE {
      const Real share = 1 / mass[l], less = mean_fallen[l] * share;
      const Real first = log_sigmoid(peak_[l]) + (mean_step[l] * share - less);
      const Real second = log_sigmoid(-peak_[l]) - less;
      log_value[l] = turned_[l] ? second : first;
      log_complement[l] = turned_[l] ? first : second;
    }
  }

 private:
  using Rule = GaussRule<Real>;
  static constexpr int kTogether = 2;  // pairs of nodes, few enough for the fastest memory
  static_assert(Rule::kPairs % kTogether == 0);
  static constexpr Real kFar = 80;  // a step beyond which log(1 - x) falls as the logit grows, to rounding

  // A step d of the logit from x = `value` divides 1 - x by 1 + x (e^d - 1): what is added to one.
  static TSGRAD_INLINE Real growth(Real value, Real step) {
    return value * exponential_m1(step < kFar ? step : kFar);
  }
  static TSGRAD_INLINE Real past_far(Real step) { return step < kFar ? Real(0) : step - kFar; }

  // How far the density matters to the left (0) or to the right (1) of its peak. Newton's method from about where a
  // parabola would have fallen as far, or the exponential that it becomes: one step ends at most 6% beyond, never before,
  // for counts from 0.001 to 10^6 and peaks a hundred standard deviations from the mode.
  void find_reach(int side, Lanes<Real>& reach) const {
    constexpr Real fall = Rule::kFall, huge = Real(1e15);
    const Real sign = side == 0 ? Real(-1) : Real(1);
    // What is to the left matters where the peak is at the mode or below; elsewhere it need only be a number.
    const Real most = side == 0 ? Real(0.5) : Real(1);
    Lanes<Real> value, distance;
    TSGRAD_EACH_LANE {
      value[l] = value_[l] < most ? value_[l] : most;
      const Real slope = std::abs(total_[l] * value[l] - alpha_[l]), curvature = total_[l] * value[l] * (1 - value[l]);
      const Real parabola = 2 * fall / (slope + std::sqrt(slope * slope + 2 * fall * curvature));
      const Real start = parabola < huge ? parabola : huge;
      distance[l] = logarithm_1p(start * (1 + start / 2));
    }
    TSGRAD_EACH_LANE {
      const Real step = sign * distance[l], grown = growth(value[l], step);
      const Real fallen = total_[l] * (logarithm_1p(grown) + past_far(step)) - alpha_[l] * step;
      const Real steep = std::abs(total_[l] * ((value[l] + grown) / (1 + grown)) - alpha_[l]);
      const Real least = Real(1e-6) * alpha_[l];  // towards a mode that is cut off, where the distance isn't used
      reach[l] = distance[l] + (fall - fallen) / (steep > least ? steep : least);
    }
  }

  // Some pairs of nodes of a side, from `first` on.
  void add_nodes(int side, int first, Lanes<Real>& mass, Lanes<Real>& mean_step, Lanes<Real>& mean_fallen) const {
    Lanes<Real> step[2 * kTogether], width[2 * kTogether], fallen[2 * kTogether];
    for (int n = 0; n < 2 * kTogether; ++n) {
      const Real at = Rule::kPoints[first + n / 2], weight = Rule::kWeights[first + n / 2];
      const Real point = n % 2 == 0 ? at : 1 - at, sign = side == 0 ? Real(-1) : Real(1);
      TSGRAD_EACH_LANE {
        const Real grading = grading_[side][l] * point, scale = scale_[side][l];
        width[n][l] = weight * scale * (1 + 2 * grading);
        step[n][l] = sign * point * scale * (1 + grading);
        fallen[n][l] = growth(value_[l], step[n][l]);
      }
    }
    for (int n = 0; n < 2 * kTogether; ++n)
      TSGRAD_EACH_LANE fallen[n][l] = logarithm_1p(fallen[n][l]) + past_far(step[n][l]);
    for (int n = 0; n < 2 * kTogether; ++n)
      TSGRAD_EACH_LANE {
        const Real part = width[n][l] * exponential(alpha_[l] * step[n][l] - total_[l] * fallen[n][l]);
        mass[l] += part, mean_step[l] += part * step[n][l], mean_fallen[l] += part * fallen[n][l];
      }
  }

  Choice<Real> turned_;        // whether alpha was the larger count
  Lanes<Real> alpha_, total_;  // the smaller count, and both
  Lanes<Real> peak_, value_;   // where the density is largest: the logit, and x itself
  // Of the two sides: where one is long beside the few units over which x goes from 0 to 1, nodes are closer near the
  // peak, as in truncated.py.
  Lanes<Real> scale_[2], grading_[2];
};

}  // namespace tsgrad
