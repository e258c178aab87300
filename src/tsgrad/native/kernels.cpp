// The compiled kernels as a Python module: arrays in, arrays out. Built once for each instruction set.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "blocks.hpp"
#include "index.hpp"

namespace nb = nanobind;
using namespace tsgrad;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

struct Request {
  std::string family, precision;
  FamilyInput input;
  Plan plan;
  std::uint32_t first_block, blocks;
  int threads;
};

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

// Runs the workers of a family over all blocks, without the interpreter's lock.
template <template <class> class Worker, class Family, class Output>
void run(const Family& family, Request& request, const Output& out) {
  std::atomic<bool> stop{false};
  request.plan.stop = &stop;
  bool complete;
  {
    const nb::gil_scoped_release unlocked;
    complete = over_blocks(request.threads, request.first_block, request.blocks, stop, interrupted,
                           [&] { return Worker<Family>(family, request.plan, out); });
  }
  if (!complete) throw nb::python_error();
}

template <template <class> class Worker, class Real, class Output>
void run_family(Request& request, const Output& out) {
  if (request.family == "gaussian") return run<Worker>(Gaussian<Real>(request.input), request, out);
  if (request.family == "bernoulli") return run<Worker>(Bernoulli<Real>(request.input), request, out);
  throw std::invalid_argument("family must be gaussian or bernoulli, got " + request.family);
}

template <template <class> class Worker, class Output>
void run_precision(Request& request, const Output& out) {
  if (request.precision == "float32") return run_family<Worker, float>(request, out);
  if (request.precision == "float64") return run_family<Worker, double>(request, out);
  throw std::invalid_argument("precision must be float32 or float64, got " + request.precision);
}

Request make_request(const std::string& family, const std::string& precision, const Matrix& problem,
                     const Matrix& policy, int horizon, std::uint64_t seed, std::uint32_t purpose,
                     std::uint32_t iteration, std::uint32_t episodes, std::uint32_t first_block, std::uint32_t blocks,
                     int threads) {
  Request request{};
  if (policy.shape(0) != 4 || policy.shape(1) != problem.shape(1) || problem.shape(0) != (family == "gaussian" ? 3 : 2))
    throw std::invalid_argument("problem must have one column an arm, policy four rows and as many columns");
  if (horizon < 1 || threads < 1) throw std::invalid_argument("horizon and threads must be at least 1");
  request.family = family, request.precision = precision;
  request.input = {static_cast<int>(problem.shape(1)), horizon, problem.data(), policy.data()};
  request.plan.address = {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed), purpose, iteration};
  request.plan.episodes = episodes;
  request.plan.rollouts = 1;
  request.first_block = first_block, request.blocks = blocks, request.threads = threads;
  return request;
}

nb::dict gradient(const std::string& family, const std::string& precision, Matrix problem, Matrix policy, int horizon,
                  std::uint64_t seed, std::uint32_t purpose, std::uint32_t iteration, std::uint32_t episodes,
                  std::uint32_t first_block, std::uint32_t blocks, int threads, int metric, int baseline, int rollouts,
                  bool single_time, bool shared, bool every_episode) {
  Request request = make_request(family, precision, problem, policy, horizon, seed, purpose, iteration, episodes,
                                 first_block, blocks, threads);
  if (metric < 0 || metric > 3 || baseline < 0 || baseline > 2 || rollouts < (baseline == 2 ? 2 : 1))
    throw std::invalid_argument("no such metric, baseline or number of rollouts");
  request.plan.metric = static_cast<Metric>(metric), request.plan.baseline = static_cast<Baseline>(baseline);
  request.plan.rollouts = rollouts, request.plan.single_time = single_time, request.plan.shared = shared;
  const std::size_t parameters = 4 * (shared ? 1 : problem.shape(1));
  GradientOutput out{};
  nb::dict result;
  result["count"] = zeros<std::int64_t>({blocks}, out.count);
  result["mean"] = zeros<double>({blocks, parameters}, out.mean);
  result["spread"] = zeros<double>({blocks, parameters}, out.spread);
  result["regret_mean"] = zeros<double>({blocks}, out.regret_mean);
  result["regret_spread"] = zeros<double>({blocks}, out.regret_spread);
  if (every_episode) result["every_episode"] = zeros<double>({blocks, kBlock, parameters}, out.every_episode);
  run_precision<GradientWorker>(request, out);
  return result;
}

// A table [arm or 1][step or 1][cell], checked.
TableInput make_table(const Cube& table, const Request& request) {
  const std::size_t arms = request.input.arms, steps = request.input.horizon;
  const std::size_t cells = request.family == "gaussian" ? steps : steps * (steps + 1) / 2;
  const TableInput input{table.data(), table.shape(0), table.shape(1), table.shape(2)};
  if ((input.rows != 1 && input.rows != arms) || (input.steps != 1 && input.steps != steps) || input.cells != cells)
    throw std::invalid_argument("a table must be [arm or 1][step or 1][cell]");
  return input;
}

template <class Real>
void run_index(Request& request, const Cube& table, const std::optional<Cube>& spread, const SimulationOutput& out) {
  const TableInput means = make_table(table, request);
  std::optional<TableInput> spreads;
  if (spread) spreads = make_table(*spread, request);
  if (request.family == "gaussian")
    run<SimulationWorker>(Index<Gaussian<Real>>(request.input, means, spreads), request, out);
  else
    run<SimulationWorker>(Index<Bernoulli<Real>>(request.input, means, spreads), request, out);
}

nb::dict simulate(const std::string& family, const std::string& precision, Matrix problem, Matrix policy, int horizon,
                  std::uint64_t seed, std::uint32_t purpose, std::uint32_t iteration, std::uint32_t episodes,
                  std::uint32_t first_block, std::uint32_t blocks, int threads, std::optional<Cube> table,
                  std::optional<Cube> spread, bool trajectories) {
  Request request = make_request(family, precision, problem, policy, horizon, seed, purpose, iteration, episodes,
                                 first_block, blocks, threads);
  const std::size_t arms = problem.shape(1), steps = horizon;
  SimulationOutput out{};
  nb::dict result;
  result["regret"] = zeros<double>({blocks, kBlock}, out.regret);
  result["reward"] = zeros<double>({blocks, kBlock}, out.reward);
  result["lost"] = zeros<double>({blocks, steps}, out.lost);
  result["pulls"] = zeros<double>({blocks, arms}, out.pulls);
  if (trajectories) {
    result["arms"] = zeros<std::int32_t>({blocks, kBlock, steps}, out.arms);
    result["rewards"] = zeros<double>({blocks, kBlock, steps}, out.rewards);
  }
  if (!table)
    run_precision<SimulationWorker>(request, out);
  else if (precision == "float64")
    run_index<double>(request, *table, spread, out);
  else
    run_index<float>(request, *table, spread, out);
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
  module.def("gradient", &gradient, nb::kw_only(), "family"_a, "precision"_a, "problem"_a, "policy"_a, "horizon"_a,
             "seed"_a, "purpose"_a, "iteration"_a, "episodes"_a, "first_block"_a, "blocks"_a, "threads"_a, "metric"_a,
             "baseline"_a, "rollouts"_a, "single_time"_a, "shared"_a, "every_episode"_a);
  module.def("simulate", &simulate, nb::kw_only(), "family"_a, "precision"_a, "problem"_a, "policy"_a, "horizon"_a,
             "seed"_a, "purpose"_a, "iteration"_a, "episodes"_a, "first_block"_a, "blocks"_a, "threads"_a,
             "table"_a.none(), "spread"_a.none(), "trajectories"_a);
}
