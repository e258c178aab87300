// Index policies: posterior mean + table[arm, t, cell] (+ spread[arm, t, cell] * normal), for any family of arms.
// The formulas are those of tsgrad/policies/index.py.

#pragma once

#include <optional>

#include "bernoulli.hpp"

namespace tsgrad {

// A table as it comes from Python; an axis of length 1 holds for all arms, or at all times.
struct TableInput {
  const double* data;
  std::size_t rows, steps, cells;
};

template <class Real>
class Table {
 public:
  explicit Table(const TableInput& input)
      : row_stride_(input.rows == 1 ? 0 : input.steps * input.cells), step_stride_(input.steps == 1 ? 0 : input.cells),
        values_(input.data, input.data + input.rows * input.steps * input.cells) {}

  const Real* cells(int k, int t) const { return values_.data() + k * row_stride_ + (t - 1) * step_stride_; }

 private:
  std::size_t row_stride_, step_stride_;
  std::vector<Real> values_;
};

template <class Base>
class Index : public Base {
 public:
  using Real = typename Base::Real;
  static constexpr int kMeta = 0;

  Index(const FamilyInput& input, const TableInput& table, const std::optional<TableInput>& spread)
      : Base(input), table_(table) {
    if (spread) spread_.emplace(*spread);
  }

  template <bool Score, bool Keep, bool Factor>
  void draw(const typename Base::Cache&, const Keys& keys, const Real* pulls, const Real* total, int t,
            const Lanes<Real>&, Real*, Arms<Real>& arm) const {
    using Integer = typename Bits<Real>::Integer;
    Lanes<Real> best, z[2];
    for (int k = 0; k < this->arms; ++k) {
      const Real* const count = pulls + k * kLanes;
      const Real* const sum = total + k * kLanes;
      const Real* const row = table_.cells(k, t);
      Lanes<Real> value;
      TSGRAD_EACH_LANE
        value[l] = this->posterior_mean(k, count[l], sum[l]) + row[Base::cell(count[l], sum[l])];
      if (spread_) {
        if (k % 2 == 0)
          TSGRAD_EACH_LANE {
            const NormalPair<Real> pair = normal_pair<Real>(keys[l], t, k / 2);
            z[0][l] = pair.even, z[1][l] = pair.odd;
          }
        const Real* const scale = spread_->cells(k, t);
        TSGRAD_EACH_LANE value[l] += scale[Base::cell(count[l], sum[l])] * z[k & 1][l];
      }
      TSGRAD_EACH_LANE {
        const bool better = k == 0 || value[l] > best[l];
        best[l] = better ? value[l] : best[l];
        arm[l] = better ? Integer(k) : arm[l];
      }
    }
  }

 private:
  Table<Real> table_;
  std::optional<Table<Real>> spread_;
};

}  // namespace tsgrad
