// The compiled kernels as a Python module: arrays in, arrays out. Built once for each instruction set.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "blocks.hpp"
#include "bonus.hpp"
#include "index.hpp"
#include "reshaped_beta.hpp"
#include "reshaped_normal.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace tsgrad;

namespace {

template <template <class> class Arms, template <class> class Law>
struct Pair {
  template <class Real>
  using Kernel = tsgrad::Kernel<Arms<Real>, Law<Arms<Real>>>;
};
template <class... Pairs>
struct List {};

// Every kernel there is: its arms and its law.
using Kernels = List<
    Pair<GaussianArms, ReshapedNormal>,
    Pair<GaussianArms, Bonus>,
    Pair<GaussianArms, Index>,
    Pair<BernoulliArms, ReshapedBeta>,
    Pair<BernoulliArms, Bonus>,
    Pair<BernoulliArms, Index>>;

using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Available = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

struct Request {
  std::string arms, law, precision;
  Fields truth, problem, policy;
  int horizon;
  std::optional<Available> available;
  Plan plan;
  std::uint32_t first_block, blocks;
  int threads;
};

// The arrays of a dictionary, which must outlive them.
Fields make_fields(const char* owner, const nb::dict& arrays) {
  Fields fields(owner);
  for (const auto& [key, value] : arrays) {
    const std::string name = nb::cast<std::string>(key);
    Array array;
    if (!nb::try_cast<Array>(value, array, false))
      throw std::invalid_argument(std::string(owner) + " field '" + name + "' must be a float64 array in C order");
    std::vector<std::size_t> shape;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape.push_back(array.shape(axis));
    fields.put(name, {array.data(), shape});
  }
  return fields;
}

// A NumPy array of zeros that owns its memory.
template <class T>
nb::ndarray<nb::numpy, T> zeros(std::initializer_list<std::size_t> shape, T*& data) {
  std::size_t size = 1;
  for (std::size_t n : shape) size *= n;
  data = new T[size]();
  return nb::ndarray<nb::numpy, T>(data, shape, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

bool interrupted() {
  const nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// Runs workers over all blocks, without the interpreter's lock.
template <class MakeWorker>
void run(const Request& request, std::atomic<bool>& stop, const MakeWorker& make_worker) {
  bool complete;
  {
    const nb::gil_scoped_release unlocked;
    complete = over_blocks(request.threads, request.first_block, request.blocks, stop, interrupted, make_worker);
  }
  if (!complete) throw nb::python_error();
}

template <class Kernel, class Work>
bool run_if_named(const Request& request, const Work& work) {
  if (request.arms != Kernel::Arms::kName || request.law != Kernel::Law::kName) return false;
  const Kernel kernel(request.truth, request.problem, request.policy, request.horizon);
  if (request.available && (request.available->shape(0) != static_cast<std::size_t>(request.horizon) ||
                            request.available->shape(1) != static_cast<std::size_t>(kernel.arms.count)))
    throw std::invalid_argument("available must be [T, K]");
  work(kernel);
  return true;
}

// Does the work with the kernel that the request names.
template <class Work, class... Pairs>
void with_kernel(const Request& request, List<Pairs...>, const Work& work) {
  bool found;
  if (request.precision == "float32")
    found = (run_if_named<typename Pairs::template Kernel<float>>(request, work) || ...);
  else if (request.precision == "float64")
    found = (run_if_named<typename Pairs::template Kernel<double>>(request, work) || ...);
  else
    throw std::invalid_argument("precision must be float32 or float64, got " + request.precision);
  if (!found)
    throw std::invalid_argument("there is no kernel for the law '" + request.law + "' over arms '" + request.arms + "'");
}

Request make_request(const std::string& arms, const std::string& law, const std::string& precision,
                     const nb::dict& truth, const nb::dict& problem, const nb::dict& policy,
                     const std::optional<Available>& available, int horizon, std::uint64_t seed,
                     std::uint32_t purpose, std::uint32_t iteration, std::uint32_t episodes,
                     std::uint32_t first_block, std::uint32_t blocks, int threads) {
  if (horizon < 1 || threads < 1) throw std::invalid_argument("horizon and threads must be at least 1");
  Request request{arms, law, precision, make_fields("truth", truth), make_fields("problem", problem),
                  make_fields("policy", policy), horizon, available, {}, first_block, blocks, threads};
  request.plan.address = {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed), purpose, iteration};
  request.plan.episodes = episodes;
  request.plan.rollouts = 1;
  request.plan.available = available ? available->data() : nullptr;
  return request;
}

nb::dict gradient(const std::string& arms, const std::string& law, const std::string& precision, nb::dict truth,
                  nb::dict problem, nb::dict policy, std::optional<Available> available, int horizon,
                  std::uint64_t seed, std::uint32_t purpose, std::uint32_t iteration, std::uint32_t episodes,
                  std::uint32_t first_block, std::uint32_t blocks, int threads, const std::vector<std::string>& parameters, int metric,
                  int baseline, int rollouts, bool single_time, bool conditional, bool every_episode, bool fisher) {
  Request request = make_request(arms, law, precision, truth, problem, policy, available, horizon, seed, purpose,
                                 iteration, episodes, first_block, blocks, threads);
  if (metric < 0 || metric > 3 || baseline < 0 || baseline > 2 || rollouts < (baseline == 2 ? 2 : 1))
    throw std::invalid_argument("no such metric, baseline or number of rollouts");
  std::atomic<bool> stop{false};
  request.plan.metric = static_cast<Metric>(metric), request.plan.baseline = static_cast<Baseline>(baseline);
  request.plan.rollouts = rollouts, request.plan.single_time = single_time, request.plan.stop = &stop;
  request.plan.conditional = conditional, request.plan.fisher = fisher;
  nb::dict result;
  with_kernel(request, Kernels{}, [&]<class Kernel>(const Kernel& kernel) {
    if constexpr (Kernel::Law::kScored) {
      if (conditional && !Kernel::Law::kConditional)
        throw std::invalid_argument("the law '" + request.law + "' has no conditional score");
      const Parameters wanted(kernel.law.score(), parameters);
      GradientOutput out{};
      result["count"] = zeros<std::int64_t>({blocks}, out.count);
      result["mean"] = zeros<double>({blocks, wanted.count()}, out.mean);
      result["spread"] = zeros<double>({blocks, wanted.count()}, out.spread);
      result["regret_mean"] = zeros<double>({blocks}, out.regret_mean);
      result["regret_spread"] = zeros<double>({blocks}, out.regret_spread);
      if (every_episode) result["every_episode"] = zeros<double>({blocks, kBlock, wanted.count()}, out.every_episode);
      if (fisher) result["fisher"] = zeros<double>({blocks, wanted.count(), wanted.count()}, out.fisher);
      run(request, stop, [&] { return GradientWorker<Kernel>(kernel, request.plan, wanted, out); });
    } else {
      throw std::invalid_argument("the law '" + request.law + "' has no score, hence no gradient");
    }
  });
  return result;
}

nb::dict simulate(const std::string& arms, const std::string& law, const std::string& precision, nb::dict truth,
                  nb::dict problem, nb::dict policy, std::optional<Available> available, int horizon,
                  std::uint64_t seed, std::uint32_t purpose, std::uint32_t iteration, std::uint32_t episodes,
                  std::uint32_t first_block, std::uint32_t blocks, int threads, bool trajectories) {
  Request request = make_request(arms, law, precision, truth, problem, policy, available, horizon, seed, purpose,
                                 iteration, episodes, first_block, blocks, threads);
  std::atomic<bool> stop{false};
  request.plan.stop = &stop;
  nb::dict result;
  with_kernel(request, Kernels{}, [&]<class Kernel>(const Kernel& kernel) {
    const std::size_t steps = horizon, count = kernel.arms.count;
    SimulationOutput out{};
    result["regret"] = zeros<double>({blocks, kBlock}, out.regret);
    result["reward"] = zeros<double>({blocks, kBlock}, out.reward);
    result["step_regret"] = zeros<double>({blocks, steps}, out.step_regret);
    result["pulls"] = zeros<double>({blocks, count}, out.pulls);
    if (trajectories) {
      result["arms"] = zeros<std::int32_t>({blocks, kBlock, steps}, out.arms);
      result["rewards"] = zeros<double>({blocks, kBlock, steps}, out.rewards);
    }
    run(request, stop, [&] { return SimulationWorker<Kernel>(kernel, request.plan, out); });
  });
  return result;
}

// What the processor at hand can run, best first.
nb::list instruction_sets() {
  nb::list names;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    names.append("avx512");
  if (__builtin_cpu_supports("avx2")) names.append("avx2");
#endif
  names.append("plain");
  return names;
}

}  // namespace

NB_MODULE(TSGRAD_MODULE, module) {
  using namespace nb::literals;
  module.attr("BLOCK") = kBlock;
  module.def("instruction_sets", &instruction_sets);
  module.def("gradient", &gradient, nb::kw_only(), "arms"_a, "law"_a, "precision"_a, "truth"_a, "problem"_a, "policy"_a,
             "available"_a.none(), "horizon"_a, "seed"_a, "purpose"_a, "iteration"_a, "episodes"_a, "first_block"_a,
             "blocks"_a, "threads"_a, "parameters"_a, "metric"_a, "baseline"_a, "rollouts"_a, "single_time"_a,
             "conditional"_a, "every_episode"_a, "fisher"_a);
  module.def("simulate", &simulate, nb::kw_only(), "arms"_a, "law"_a, "precision"_a, "truth"_a, "problem"_a, "policy"_a,
             "available"_a.none(), "horizon"_a, "seed"_a, "purpose"_a, "iteration"_a, "episodes"_a, "first_block"_a,
             "blocks"_a, "threads"_a, "trajectories"_a);
}
