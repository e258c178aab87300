// The bonus law, for any arms that know mean, standard deviation and strength of what is believed of them.
// The formulas are those of tsgrad/policies/bonus.py.

#pragma once

#include "law.hpp"
#include "truncated_normal.hpp"

namespace tsgrad {

template <class Arms>
class Bonus {
 public:
  using Real = typename Arms::Real;
  static constexpr const char* kName = "bonus";
  static constexpr bool kScored = true, kConditional = true;
  static constexpr int kMostDegree = 8;
  static constexpr double kLeast = -3, kMost = 3;  // of the logarithm of the spread
  static constexpr double kLeastRoom = 1e-6;       // below a ceiling

  Bonus(const Arms& arms, const Fields& policy, int horizon)
      : arms_(arms), count_(arms.count), capped_(policy.find("ceiling")), ceiling_(capped_ ? Real(policy.number("ceiling")) : Real(0)) {
    const Field& bonus = policy.get("bonus");
    const Field& log_spread = policy.get("log_spread");
    const std::size_t terms = bonus.shape.at(0);
    while (term_count(degree_) < terms) ++degree_;
    if (degree_ > kMostDegree || term_count(degree_) != terms || log_spread.shape != bonus.shape)
      throw std::invalid_argument("policy fields 'bonus' and 'log_spread' must be those of polynomials");
    score_ = {{"bonus", terms, terms}, {"log_spread", terms, terms}};
    const double least = std::log(policy.number("least_known")), known = std::log(policy.number("most_known"));
    both_ends_ = Real(least + known), inverse_range_ = Real(1 / range(known - least));
    const double most = std::log(policy.number("most_left"));
    const Field* const left = policy.find("arms_left");
    if (left && left->shape != std::vector<std::size_t>{static_cast<std::size_t>(horizon), static_cast<std::size_t>(count_)})
      throw policy.wrong_shape("arms_left", "[" + std::to_string(horizon) + ", " + std::to_string(count_) + "]");
    columns_ = left ? count_ : 1;
    for (int place = 0; place < horizon * columns_; ++place) {
      const double steps = left ? left->data[place] : horizon - place;
      const double scaled = (2 * std::log(steps) - most) / range(most);
      double powers[kMostDegree + 1];
      chebyshev(std::clamp(scaled, -1.0, 1.0), powers);
      std::size_t term = 0;
      for (int j = 0; j <= degree_; ++j) {
        double of_bonus = 0, of_spread = 0;
        for (int i = 0; i + j <= degree_; ++i, ++term)
          of_bonus += bonus.data[term] * powers[i], of_spread += log_spread.data[term] * powers[i];
        bonus_.push_back(Real(of_bonus)), spread_.push_back(Real(of_spread)), left_.push_back(Real(powers[j]));
      }
    }
  }

  const std::vector<ScoreRows>& score() const { return score_; }

  // What is believed of each arm, which changes only when it is pulled, and room for the draws of a step.
  struct Cache {
    explicit Cache(int arms)
        : mean(row_of(arms)), std(row_of(arms)), known(kMostDegree * row_of(arms)), residual(row_of(arms)),
          location(row_of(arms)), scale(row_of(arms)), slope(row_of(arms)), moves(row_of(arms)) {}
    Buffer<Real> mean, std;                         // of the arm's expected reward
    Buffer<Real> known;                             // [degree][K][lanes]: Chebyshev's polynomials, from T_1 on
    Buffer<Real> residual, location, scale;         // of the step's draws
    Buffer<Real> slope, moves;                      // of the location in u; whether the spread is within its bounds
  };

  void start(Cache& cache) const {
    Choice<Real> arm;
    Lanes<Real> zero;
    zero.fill(0);
    for (int k = 0; k < count_; ++k) {
      arm.fill(k);
      renew(cache, arm, zero, zero);
    }
  }

  void renew(Cache& cache, const Choice<Real>& arm, const Lanes<Real>& pulls, const Lanes<Real>& total) const {
    Lanes<Real> mean, std, strength, previous, known;
    arms_.moments(arm, pulls, total, mean, std, strength);
    TSGRAD_EACH_LANE {
      const Real scaled = (2 * logarithm(strength[l]) - both_ends_) * inverse_range_;
      strength[l] = scaled < -1 ? Real(-1) : scaled > 1 ? Real(1) : scaled;
      previous[l] = 1, known[l] = strength[l];
    }
    TSGRAD_EACH_LANE {
      const std::size_t at = arm[l] * kLanes + l;
      cache.mean[at] = mean[l], cache.std[at] = std[l];
    }
    for (int j = 1; j <= degree_; ++j) {
      Real* const row = cache.known.data() + (j - 1) * row_of(count_);
      TSGRAD_EACH_LANE row[arm[l] * kLanes + l] = known[l];
      TSGRAD_EACH_LANE {
        const Real next = 2 * strength[l] * known[l] - previous[l];
        previous[l] = known[l], known[l] = next;
      }
    }
  }

  template <class Score>
  void draw(Cache& cache, const Keys& keys, const Belief<Real>&, int t, const Open& open, const Score& score,
            Choice<Real>& arm) const {
    Contest<Real, Score::kExpected> contest(open, arm);
    Lanes<Real> z[2];
    for (int k = 0; k < count_; ++k) {
      if (k % 2 == 0)
        TSGRAD_EACH_LANE {
          const NormalPair<Real> pair = normal_pair<Real>(keys[l], t, k / 2);
          z[0][l] = pair.even, z[1][l] = pair.odd;
        }
      draw_arm(cache, contest, t, k, z[k & 1], Score::kAsked);
    }
    if constexpr (Score::kAsked) put_score(cache, contest, t, score);
  }

 private:
  // Of a logarithm; where both ends are one, everything is scaled to the middle.
  static double range(double length) { return length < 1e-6 ? length + 1e-6 : length; }

  static std::size_t term_count(int degree) { return static_cast<std::size_t>(degree + 1) * (degree + 2) / 2; }

  void chebyshev(double x, double* values) const {
    values[0] = 1, values[1] = x;
    for (int i = 2; i <= degree_; ++i) values[i] = 2 * x * values[i - 1] - values[i - 2];
  }

  // Where the coefficients of an arm at a time are.
  std::size_t place_of(int t, int k) const {
    return (static_cast<std::size_t>(t - 1) * columns_ + (columns_ > 1 ? k : 0)) * (degree_ + 1);
  }

  // Whether an arm and the next have the same steps left, so that their scores can be summed first.
  bool alike(int t, int k) const {
    const Real* const left = left_.data() + place_of(t, k);
    return columns_ == 1 || std::equal(left, left + degree_ + 1, left + degree_ + 1);
  }

  template <class Contest>
  TSGRAD_INLINE void draw_arm(Cache& cache, Contest& contest, int t, int k, const Lanes<Real>& residual,
                              bool keep) const {
    const std::size_t step = place_of(t, k);
    Lanes<Real> u, v, location, scale, slope;
    u.fill(bonus_[step]), v.fill(spread_[step]);
    for (int j = 1; j <= degree_; ++j) {
      const Real* const known = cache.known.data() + (j - 1) * row_of(count_) + row_of(k);
      const Real of_bonus = bonus_[step + j], of_spread = spread_[step + j];
      TSGRAD_EACH_LANE u[l] += of_bonus * known[l], v[l] += of_spread * known[l];
    }
    const Real* const mean = cache.mean.data() + row_of(k);
    const Real* const std = cache.std.data() + row_of(k);
    TSGRAD_EACH_LANE {
      const Real kept = v[l] < Real(kLeast) ? Real(kLeast) : v[l] > Real(kMost) ? Real(kMost) : v[l];
      location[l] = mean[l] + std[l] * u[l];
      scale[l] = std[l] * exponential(kept);
      slope[l] = std[l];
    }
    if (capped_)
      TSGRAD_EACH_LANE {
        const Real bonus = std[l] * u[l], below = ceiling_ - mean[l];
        const Real room = below > Real(kLeastRoom) ? below : Real(kLeastRoom);
        const Real limit = 1 + (bonus > 0 ? bonus : Real(0)) / room;
        location[l] = mean[l] + bonus / limit;
        slope[l] = std[l] / (limit * limit);
      }
    contest.offer(k, [&](int l) { return location[l] + scale[l] * residual[l]; });
    if (!keep) return;
    Real* const kept_residual = cache.residual.data() + row_of(k);
    Real* const kept_location = cache.location.data() + row_of(k);
    Real* const kept_scale = cache.scale.data() + row_of(k);
    Real* const kept_slope = cache.slope.data() + row_of(k);
    Real* const moves = cache.moves.data() + row_of(k);
    TSGRAD_EACH_LANE {
      kept_residual[l] = residual[l], kept_location[l] = location[l], kept_scale[l] = scale[l];
      kept_slope[l] = slope[l];
      moves[l] = v[l] > Real(kLeast) && v[l] < Real(kMost) ? Real(1) : Real(0);
    }
  }

  template <class Contest, class Score>
  void put_score(const Cache& cache, const Contest& contest, int t, const Score& score) const {
    // The score in u and v of each arm, times Chebyshev's polynomials of what is known, summed over neighbouring arms
    // with the same steps left.
    Lanes<Real> by_bonus[kMostDegree + 1], by_spread[kMostDegree + 1], first, square;
    const std::size_t terms = term_count(degree_);
    for (int k = 0, sum_from = 0; k < count_; ++k) {
      if (k == sum_from)
        for (int j = 0; j <= degree_; ++j) by_bonus[j].fill(0), by_spread[j].fill(0);
      const Real* const location = cache.location.data() + row_of(k);
      const Real* const scale = cache.scale.data() + row_of(k);
      const Real* const slope = cache.slope.data() + row_of(k);
      const Real* const residual = cache.residual.data() + row_of(k);
      const Real* const moves = cache.moves.data() + row_of(k);
      if constexpr (Score::kExpected) {
        expect_residual(contest, k, [&](int l) { return location[l]; }, [&](int l) { return scale[l]; }, first, square);
      } else {
        TSGRAD_EACH_LANE first[l] = residual[l], square[l] = residual[l] * residual[l] - 1;
      }
      TSGRAD_EACH_LANE {
        first[l] *= slope[l] / scale[l], square[l] *= moves[l];
        by_bonus[0][l] += first[l], by_spread[0][l] += square[l];
      }
      for (int j = 1; j <= degree_; ++j) {
        const Real* const known = cache.known.data() + (j - 1) * row_of(count_) + row_of(k);
        TSGRAD_EACH_LANE by_bonus[j][l] += first[l] * known[l], by_spread[j][l] += square[l] * known[l];
      }
      if (k + 1 < count_ && alike(t, k)) continue;
      if (sum_from == 0)
        put_terms(by_bonus, by_spread, place_of(t, k), score);
      else
        put_terms(by_bonus, by_spread, place_of(t, k), score.adding());
      sum_from = k + 1;
    }
  }

  // The score in the coefficients, from sums over arms that have the same steps left.
  template <class Score>
  void put_terms(const Lanes<Real>* by_bonus, const Lanes<Real>* by_spread, std::size_t place, const Score& score) const {
    const Real* const left = left_.data() + place;
    const std::size_t terms = term_count(degree_);
    Real* row = score.rows;
    for (int j = 0; j <= degree_; ++j)
      for (int i = 0; i + j <= degree_; ++i, row += kLanes) {
        Real* const spread_row = row + terms * kLanes;
        TSGRAD_EACH_LANE {
          score.put(row, l, left[i] * by_bonus[j][l]);
          score.put(spread_row, l, left[i] * by_spread[j][l]);
        }
      }
  }

  const Arms& arms_;
  const int count_;
  const bool capped_;  // whether expected rewards end at a ceiling
  const Real ceiling_;
  int degree_ = 0;
  int columns_ = 1;  // K where arms come and go: the steps left are then each arm's own
  Real both_ends_, inverse_range_;  // of the logarithm of strength: their sum, and one over how far they are apart
  std::vector<ScoreRows> score_;
  std::vector<Real> bonus_, spread_, left_;  // [T][columns][degree + 1]: coefficients of T_j(y), and T_j(x)
};

}  // namespace tsgrad
