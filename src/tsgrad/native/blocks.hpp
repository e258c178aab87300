// Blocks: 256 episodes that give their sums, whoever computes them; threads take them in turn.

#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "engine.hpp"

namespace tsgrad {

// Where a gradient's blocks put their results. Axes: [block] first.
struct GradientOutput {
  std::int64_t* count;
  double *mean, *spread;                // [block][P]
  double *regret_mean, *regret_spread;  // [block]
  double* every_episode;                // [block][256][P], or nothing
};

// Where a simulation's blocks put their results. Axes: [block] first.
struct SimulationOutput {
  double *regret, *reward;  // [block][256]
  double *lost;             // [block][T]
  double *pulls;            // [block][K]
  std::int32_t* arms;       // [block][256][T], or nothing
  double* rewards;          // [block][256][T], or nothing
};

// Mean and sum of squared deviations, in float64.
inline void moments(const double* values, int count, double& mean, double& spread) {
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  mean = count ? sum / count : 0;
  for (int i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
  spread = squares;
}

inline int real_episodes(std::uint32_t first, std::uint32_t total, int most) {
  return first >= total ? 0 : static_cast<int>(std::min<std::uint32_t>(total - first, most));
}

template <class Family>
class GradientWorker {
 public:
  GradientWorker(const Family& family, const Plan& plan, const GradientOutput& out)
      : family_(family), plan_(plan), out_(out), group_(family, plan), outcomes_(plan.shared ? 1 : family.arms),
        values_(parameters() * kBlock), regrets_(kBlock) {}

  void operator()(std::uint32_t block, std::size_t row) {
    const std::uint32_t first = block * kBlock;
    const int count = real_episodes(first, plan_.episodes, kBlock);
    for (int from = 0; from < count; from += kLanes) {
      group_.differentiate(first + from);
      collect(from);
    }
    out_.count[row] = count;
    for (std::size_t p = 0; p < parameters(); ++p)
      moments(values_.data() + p * kBlock, count, out_.mean[row * parameters() + p], out_.spread[row * parameters() + p]);
    moments(regrets_.data(), count, out_.regret_mean[row], out_.regret_spread[row]);
    if (out_.every_episode)
      for (int i = 0; i < count; ++i)
        for (std::size_t p = 0; p < parameters(); ++p)
          out_.every_episode[(row * kBlock + i) * parameters() + p] = values_[p * kBlock + i];
  }

 private:
  std::size_t parameters() const { return static_cast<std::size_t>(Family::kMeta) * outcomes_; }

  void collect(int from) {
    for (int c = 0; c < Family::kMeta; ++c)
      for (int o = 0; o < outcomes_; ++o)
        for (int l = 0; l < kLanes; ++l) {
          double sum = 0;
          for (int k = plan_.shared ? 0 : o; k < (plan_.shared ? family_.arms : o + 1); ++k)
            sum += group_.gradient[(static_cast<std::size_t>(c) * family_.arms + k) * kLanes + l];
          values_[(static_cast<std::size_t>(c) * outcomes_ + o) * kBlock + from + l] = sum;
        }
    for (int l = 0; l < kLanes; ++l) regrets_[from + l] = group_.regret[l];
  }

  const Family& family_;
  const Plan& plan_;
  const GradientOutput& out_;
  Group<Family> group_;
  const int outcomes_;  // meta-parameters of one kind
  std::vector<double> values_, regrets_;
};

template <class Family>
class SimulationWorker {
 public:
  SimulationWorker(const Family& family, const Plan& plan, const SimulationOutput& out)
      : family_(family), plan_(plan), out_(out), group_(family, plan) {}

  void operator()(std::uint32_t block, std::size_t row) {
    const std::uint32_t first = block * kBlock;
    const int T = family_.horizon, K = family_.arms, count = real_episodes(first, plan_.episodes, kBlock);
    for (int from = 0; from < count; from += kLanes) {
      const int real = std::min(count - from, kLanes);
      const std::size_t base = row * kBlock + from;
      group_.simulate(first + from, [&](int t, const auto& run, const auto& best_mean) {
        for (int l = 0; l < real; ++l) {
          const double lost = best_mean[l] - run.mean[l];
          out_.regret[base + l] += lost;
          out_.reward[base + l] += run.reward[l];
          out_.lost[row * T + t - 1] += lost;
          out_.pulls[row * K + run.arm[l]] += 1;
          if (out_.arms) {
            out_.arms[(base + l) * T + t - 1] = static_cast<std::int32_t>(run.arm[l]);
            out_.rewards[(base + l) * T + t - 1] = run.reward[l];
          }
        }
      });
    }
  }

 private:
  const Family& family_;
  const Plan& plan_;
  const SimulationOutput& out_;
  Group<Family> group_;
};

// Hands blocks to threads until all are done; `interrupted` is asked now and then, on the calling thread.
template <class MakeWorker>
bool over_blocks(int threads, std::uint32_t first_block, std::uint32_t blocks, std::atomic<bool>& stop,
                 const std::function<bool()>& interrupted, const MakeWorker& make_worker) {
  std::atomic<std::uint32_t> next{0};
  std::mutex mutex;
  std::condition_variable done;
  int working = std::min<std::int64_t>(threads, blocks);
  std::vector<std::thread> pool;
  for (int i = working; i > 0; --i)
    pool.emplace_back([&] {
      auto worker = make_worker();
      for (std::uint32_t row; !stop.load(std::memory_order_relaxed) && (row = next++) < blocks;)
        worker(first_block + row, row);
      const std::lock_guard<std::mutex> lock(mutex);
      --working;
      done.notify_one();
    });
  std::unique_lock<std::mutex> lock(mutex);
  while (!done.wait_for(lock, std::chrono::milliseconds(50), [&] { return working == 0; }))
    if (interrupted()) stop = true;
  lock.unlock();
  for (std::thread& thread : pool) thread.join();
  return !stop;
}

}  // namespace tsgrad
