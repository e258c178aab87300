// Index policies, for any arms that say what an index depends on: posterior mean + table[arm, t, cell]
// (+ spread[arm, t, cell] * normal). The formulas are those of tsgrad/policies/index.py.

#pragma once

#include <optional>

#include "law.hpp"

namespace tsgrad {

// A table [K or 1][T or 1][cell]; an axis of length 1 holds for all arms, or at all times.
template <class Real>
class Table {
 public:
  Table(const Fields& policy, const std::string& name, std::size_t arms, std::size_t steps, std::size_t cells) {
    const Field& field = policy.get(name);
    const std::vector<std::size_t>& shape = field.shape;
    if (shape.size() != 3 || (shape[0] != 1 && shape[0] != arms) || (shape[1] != 1 && shape[1] != steps) ||
        shape[2] != cells)
      throw policy.wrong_shape(name, "[" + std::to_string(arms) + " or 1, " + std::to_string(steps) + " or 1, " +
                                         std::to_string(cells) + "]");
    arm_stride_ = shape[0] == 1 ? 0 : shape[1] * cells;
    step_stride_ = shape[1] == 1 ? 0 : cells;
    values_.assign(field.data, field.data + shape[0] * shape[1] * cells);
  }

  const Real* cells(int k, int t) const { return values_.data() + k * arm_stride_ + (t - 1) * step_stride_; }

 private:
  std::size_t arm_stride_, step_stride_;
  std::vector<Real> values_;
};

template <class Arms>
class Index {
 public:
  using Real = typename Arms::Real;
  using Cache = NoCache;
  static constexpr const char* kName = "index";
  static constexpr bool kScored = false, kConditional = false;

  Index(const Arms& arms, const Fields& policy, int horizon)
      : arms_(arms), table_(policy, "table", arms.count, horizon, Arms::cells(horizon)) {
    if (policy.find("spread")) spread_.emplace(policy, "spread", arms.count, horizon, Arms::cells(horizon));
  }

  std::vector<ScoreRows> score() const { return {}; }

  void start(Cache&) const {}
  void renew(Cache&, const Choice<Real>&, const Lanes<Real>&, const Lanes<Real>&) const {}

  template <class Score>
  void draw(const Cache&, const Keys& keys, const Belief<Real>& belief, int t, const Open& open, const Score&,
            Choice<Real>& arm) const {
    Contest<Real> contest(open, arm);
    Lanes<Real> value, z[2];
    for (int k = 0; k < arms_.count; ++k) {
      const Real* const pulls = belief.pulls + row_of(k);
      const Real* const total = belief.total + row_of(k);
      const Real* const row = table_.cells(k, t);
      TSGRAD_EACH_LANE
        value[l] = arms_.posterior_mean(k, pulls[l], total[l]) + row[Arms::cell(pulls[l], total[l])];
      if (spread_) {
        if (k % 2 == 0)
          TSGRAD_EACH_LANE {
            const NormalPair<Real> pair = normal_pair<Real>(keys[l], t, k / 2);
            z[0][l] = pair.even, z[1][l] = pair.odd;
          }
        const Real* const scale = spread_->cells(k, t);
        TSGRAD_EACH_LANE value[l] += scale[Arms::cell(pulls[l], total[l])] * z[k & 1][l];
      }
      contest.offer(k, [&](int l) { return value[l]; });
    }
  }

 private:
  const Arms& arms_;
  Table<Real> table_;
  std::optional<Table<Real>> spread_;
};

}  // namespace tsgrad
