// Blocks: 256 episodes that give their sums, whoever computes them.

#pragma once

#include <optional>

#include "engine.hpp"
#include "products.hpp"

namespace tsgrad {

// Where a gradient's blocks put their results. Axes: [block] first.
struct GradientOutput {
  std::int64_t* count;
  double *mean, *spread;                // [block][P]
  double *regret_mean, *regret_spread;  // [block]
  double* every_episode;                // [block][256][P], or nothing
  double* fisher;                       // [block][P][P], sums over episodes, or nothing
};

// Where a simulation's blocks put their results. Axes: [block] first.
struct SimulationOutput {
  double *regret, *reward;  // [block][256]
  double *step_regret;      // [block][T]
  double *pulls;            // [block][K]
  std::int32_t* arms;       // [block][256][T], or nothing
  double* rewards;          // [block][256][T], or nothing
};

// Mean and sum of squared deviations of each column of values [count][columns], in float64. Columns side by side: the
// sum of one is a chain in which every addition waits for the last.
inline void moments(const double* values, int count, std::size_t columns, double* mean, double* spread) {
  std::fill(mean, mean + columns, 0.0), std::fill(spread, spread + columns, 0.0);
  for (int i = 0; i < count; ++i)
    for (std::size_t c = 0; c < columns; ++c) mean[c] += values[i * columns + c];
  for (std::size_t c = 0; c < columns; ++c) mean[c] /= std::max(count, 1);
  for (int i = 0; i < count; ++i)
    for (std::size_t c = 0; c < columns; ++c) {
      const double deviation = values[i * columns + c] - mean[c];
      spread[c] += deviation * deviation;
    }
}

inline int real_episodes(std::uint32_t first, std::uint32_t total, int most) {
  return first >= total ? 0 : static_cast<int>(std::min<std::uint32_t>(total - first, most));
}

template <class Kernel>
class GradientWorker {
 public:
  GradientWorker(const Kernel& kernel, const Plan& plan, const Parameters& parameters, const GradientOutput& out)
      : plan_(plan), parameters_(parameters), out_(out), group_(kernel, plan), values_(parameters.count() * kBlock),
        regrets_(kBlock) {
    if (plan.fisher) products_.emplace(parameters, row_count(kernel.law.score()));
  }

  void operator()(std::uint32_t block, std::size_t row) {
    const std::uint32_t first = block * kBlock;
    const int count = real_episodes(first, plan_.episodes, kBlock);
    for (int from = 0; from < count; from += kLanes) {
      if (products_) products_->start(std::min(count - from, kLanes));
      group_.differentiate(first + from, [&](const auto& scores, bool kept) {
        products_->see(scores, kept);
      });
      collect(from);
    }
    const std::size_t P = parameters_.count();
    // Of one random step whose score counts T times, the products add up to T times the Fisher matrix.
    if (products_)
      products_->add_to(out_.fisher + row * P * P, plan_.single_time ? 1.0 / group_.horizon() : 1.0);
    out_.count[row] = count;
    moments(values_.data(), count, P, out_.mean + row * P, out_.spread + row * P);
    moments(regrets_.data(), count, 1, out_.regret_mean + row, out_.regret_spread + row);
    if (out_.every_episode)
      std::copy_n(values_.begin(), count * P, out_.every_episode + row * kBlock * P);
  }

 private:
  void collect(int from) {
    const std::size_t P = parameters_.count();
    for (int l = 0; l < kLanes; ++l)
      for (std::size_t p = 0; p < P; ++p)
        values_[(from + l) * P + p] = parameters_.value(group_.gradient.data(), p, l);
    for (int l = 0; l < kLanes; ++l) regrets_[from + l] = group_.regret[l];
  }

  const Plan& plan_;
  const Parameters& parameters_;
  const GradientOutput& out_;
  Group<Kernel> group_;
  std::vector<double> values_, regrets_;  // [256][P], [256]
  std::optional<StepProducts<typename Kernel::Real>> products_;  // where they are asked for
};

template <class Kernel>
class SimulationWorker {
 public:
  SimulationWorker(const Kernel& kernel, const Plan& plan, const SimulationOutput& out)
      : kernel_(kernel), plan_(plan), out_(out), group_(kernel, plan) {}

  void operator()(std::uint32_t block, std::size_t row) {
    const std::uint32_t first = block * kBlock;
    const std::size_t T = kernel_.horizon, K = kernel_.arms.count;
    const int count = real_episodes(first, plan_.episodes, kBlock);
    for (int from = 0; from < count; from += kLanes) {
      const int real = std::min(count - from, kLanes);
      const std::size_t base = row * kBlock + from;
      group_.simulate(first + from, [&](int t, const auto& rollout, const auto& best_mean) {
        for (int l = 0; l < real; ++l) {
          const double regret = best_mean[l] - rollout.mean[l];
          out_.regret[base + l] += regret;
          out_.reward[base + l] += rollout.reward[l];
          out_.step_regret[row * T + t - 1] += regret;
          out_.pulls[row * K + rollout.arm[l]] += 1;
          if (out_.arms) {
            out_.arms[(base + l) * T + t - 1] = static_cast<std::int32_t>(rollout.arm[l]);
            out_.rewards[(base + l) * T + t - 1] = rollout.reward[l];
          }
        }
      });
    }
  }

 private:
  const Kernel& kernel_;
  const Plan& plan_;
  const SimulationOutput& out_;
  Group<Kernel> group_;
};

}  // namespace tsgrad
