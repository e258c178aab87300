// Outer products of the scores of steps, summed: what the Fisher matrix of an episode's decisions is the mean of.
// Products of whole rollouts' scores have the same mean, since the scores of different steps are uncorrelated, but more noise.

#pragma once

#include "parameters.hpp"

namespace tsgrad {

template <class Real>
class StepProducts {
 public:
  StepProducts(const Parameters& parameters, std::size_t rows)
      : parameters_(parameters), before_(rows * kLanes),
        scores_(parameters.count() * kSteps * kLanes), sums_(parameters.count() * parameters.count()) {}

  // At the first step of a group of which so many episodes count.
  void start(int real) {
    real_ = real;
    std::fill(before_.begin(), before_.end(), Real(0));
  }

  // The scores after a step, [row][lanes]: of that step, or, where they are kept, of all so far.
  void see(const Buffer<Real>& scores, bool kept) {
    for (std::size_t p = 0; p < parameters_.count(); ++p) {
      Lanes<Real> sum;
      sum.fill(0);
      for (std::size_t row = parameters_.first_row(p); row < parameters_.end_row(p); ++row) {
        const Real* const now = scores.data() + row * kLanes;
        const Real* const then = before_.data() + row * kLanes;
        TSGRAD_EACH_LANE sum[l] += now[l] - then[l];
      }
      Real* const place = scores_.data() + (p * kSteps + filled_) * kLanes;
      TSGRAD_EACH_LANE place[l] = l < real_ ? sum[l] : Real(0);
    }
    if (kept) before_ = scores;
    if (++filled_ == kSteps) multiply();
  }

  // Adds all that was seen to sums [P][P], and begins anew.
  void add_to(double* sums, double share) {
    multiply();
    const std::size_t P = parameters_.count();
    for (std::size_t p = 0; p < P; ++p)
      for (std::size_t q = 0; q <= p; ++q) {
        const double sum = share * sums_[p * P + q];
        sums[p * P + q] += sum;
        if (q < p) sums[q * P + p] += sum;
      }
    std::fill(sums_.begin(), sums_.end(), 0.0);
  }

 private:
  static constexpr int kSteps = 32;  // that are kept before they are multiplied: long sums, in cache

  void multiply() {
    const std::size_t P = parameters_.count();
    for (std::size_t p = 0; p < P; ++p)
      for (std::size_t q = 0; q <= p; ++q) {
        const Real* const one = scores_.data() + p * kSteps * kLanes;
        const Real* const other = scores_.data() + q * kSteps * kLanes;
        Lanes<Real> sum;
        sum.fill(0);
        for (int i = 0; i < filled_ * kLanes; i += kLanes) TSGRAD_EACH_LANE sum[l] += one[i + l] * other[i + l];
        for (int l = 0; l < kLanes; ++l) sums_[p * P + q] += sum[l];
      }
    filled_ = 0;
  }

  const Parameters& parameters_;
  Buffer<Real> before_;       // [row][lanes]
  Buffer<Real> scores_;       // [P][steps][lanes]
  std::vector<double> sums_;  // [P][P], its lower half
  int filled_ = 0, real_ = 0;
};

}  // namespace tsgrad
