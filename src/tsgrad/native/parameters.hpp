// Meta-parameters: which rows of a score add up to which of them.

#pragma once

#include "law.hpp"

namespace tsgrad {

// Of the fields that were asked for, in that order.
class Parameters {
 public:
  Parameters(const std::vector<ScoreRows>& score, const std::vector<std::string>& fields) {
    for (const std::string& field : fields) add(score, field);
  }

  std::size_t count() const { return starts_.size(); }

  // From which to before which row meta-parameter p is the sum.
  std::size_t first_row(std::size_t p) const { return starts_[p]; }
  std::size_t end_row(std::size_t p) const { return ends_[p]; }

  // Meta-parameter p of episode l of a group, from its gradient [row][lanes].
  template <class Real>
  double value(const Real* gradient, std::size_t p, int l) const {
    double sum = 0;
    for (std::size_t row = starts_[p]; row < ends_[p]; ++row) sum += gradient[row * kLanes + l];
    return sum;
  }

 private:
  void add(const std::vector<ScoreRows>& score, const std::string& field) {
    std::size_t first = 0;
    for (const ScoreRows& one : score) {
      if (field == one.field) {
        const std::size_t together = one.rows / one.parameters;
        for (std::size_t p = 0; p < one.parameters; ++p) {
          starts_.push_back(first + p * together);
          ends_.push_back(first + (p + 1) * together);
        }
        return;
      }
      first += one.rows;
    }
    throw std::invalid_argument("policy field '" + field + "' has no score in this kernel");
  }

  std::vector<std::size_t> starts_, ends_;  // [P], rows
};

// All rows of a score.
inline std::size_t row_count(const std::vector<ScoreRows>& score) {
  std::size_t rows = 0;
  for (const ScoreRows& one : score) rows += one.rows;
  return rows;
}

}  // namespace tsgrad
