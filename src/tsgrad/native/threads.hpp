// Threads: they take blocks in turn until all are done. Who computes a block changes no bit of it.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace tsgrad {

class Threads {
 public:
  ~Threads() {
    for (std::thread& thread : threads_) thread.join();
  }

  // As many as the system gives: fewer take longer. None at all is what a lack of memory looks like.
  template <class Work>
  int start(int count, const Work& work) {
    try {
      while (static_cast<int>(threads_.size()) < count) threads_.emplace_back(work);
    } catch (const std::exception&) {
      if (threads_.empty()) throw std::bad_alloc();
    }
    return static_cast<int>(threads_.size());
  }

 private:
  std::vector<std::thread> threads_;
};

// Hands blocks to threads; `interrupted` is asked now and then, on the calling thread. Gives back whether all blocks
// are done; what a worker throws is thrown here.
template <class MakeWorker>
bool over_blocks(int threads, std::uint32_t first_block, std::uint32_t blocks, std::atomic<bool>& stop,
                 const std::function<bool()>& interrupted, const MakeWorker& make_worker) {
  std::atomic<std::uint32_t> next{0};
  std::mutex mutex;
  std::condition_variable done;
  std::exception_ptr failure;
  int finished = 0;
  const auto work = [&] {
    std::exception_ptr thrown;
    try {
      auto worker = make_worker();
      for (std::uint32_t row; !stop.load(std::memory_order_relaxed) && (row = next++) < blocks;)
        worker(first_block + row, row);
    } catch (...) {
      thrown = std::current_exception();
      stop = true;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (thrown) failure = std::move(thrown);
    ++finished;
    done.notify_one();
  };
  {
    Threads pool;
    const int started = pool.start(std::min<std::int64_t>(threads, blocks), work);
    std::unique_lock<std::mutex> lock(mutex);
    while (!done.wait_for(lock, std::chrono::milliseconds(50), [&] { return finished == started; }))
      if (interrupted()) stop = true;
  }
  if (failure) std::rethrow_exception(failure);
  return !stop;
}

}  // namespace tsgrad
