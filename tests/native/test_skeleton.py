"""The law that the guide shows is compiled, played and differentiated, and found to be what it says."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tsgrad as tg
from tsgrad import native

ROOT = Path(__file__).parents[2]
EPISODES, HORIZON, ARMS = 300, 8, 3

MAIN = """
#include <cstdio>
#include "blocks.hpp"
#include "gaussian_arms.hpp"
#include "scaled.hpp"
#include "threads.hpp"
using namespace tsgrad;

int main() {
  const double prior_mean[] = {0, .2, -.3}, prior_std[] = {1, .8, 1.2}, noise_std[] = {1, .4, 2}, log_scale = 0;
  Fields problem("problem"), policy("policy");
  problem.put("prior_mean", {prior_mean, {3}});
  problem.put("prior_std", {prior_std, {3}});
  problem.put("noise_std", {noise_std, {3}});
  policy.put("log_scale", {&log_scale, {}});
  using Law = Scaled<GaussianArms<double>>;
  const Kernel<GaussianArms<double>, Law> kernel(problem, problem, policy, HORIZON);
  const Parameters parameters(kernel.law.score(), {"log_scale"});
  std::atomic<bool> stop{false};
  Plan plan{};
  plan.address = {0, 7, 0, 0}, plan.episodes = EPISODES, plan.metric = Metric::kMean, plan.baseline = Baseline::kSelf;
  plan.rollouts = 2, plan.stop = &stop;
  std::int64_t count[2];
  double mean[2], spread[2], regret[2], regret_spread[2];
  std::vector<double> every(2 * kBlock);
  const GradientOutput out{count, mean, spread, regret, regret_spread, every.data()};
  over_blocks(2, 0, 2, stop, [] { return false; },
              [&] { return GradientWorker<Kernel<GaussianArms<double>, Law>>(kernel, plan, parameters, out); });
  std::printf("%.17g %.17g\\n", regret[0], regret[1]);
  for (int i = 0; i < EPISODES; ++i) std::printf("%.17g\\n", every[i]);
}
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_the_law_in_the_documentation(tmp_path):
    """At scale 1 it is plain Thompson sampling; its score is twice that in all logarithms of the variance."""
    (header,) = re.findall(
        r"```cpp\n(.*?)```", (ROOT / "docs" / "guides" / "add-a-native-law.md").read_text(), re.DOTALL
    )
    (tmp_path / "scaled.hpp").write_text(header)
    (tmp_path / "main.cpp").write_text(MAIN)
    sizes = [f"-DEPISODES={EPISODES}", f"-DHORIZON={HORIZON}"]
    include = ["-I", str(tmp_path), "-I", str(ROOT / "src" / "tsgrad" / "native")]
    command = ["c++", "-std=c++20", "-O1", "-ffp-contract=off", "-pthread", *sizes, *include]
    program = tmp_path / "main"
    subprocess.run([*command, str(tmp_path / "main.cpp"), "-o", str(program)], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    regrets, gradients = np.array(lines[:2], float), np.array(lines[2:], float)

    problem = tg.GaussianBandit(prior_mean=[0, 0.2, -0.3], prior_std=[1, 0.8, 1.2], noise_std=[1, 0.4, 2])
    (plain,) = native.gradient_blocks(
        native.kernel_for(problem, tg.ReshapedThompson(problem))._replace(parameters=("log_prior_variance",)),
        metric="mean",
        baseline="self",
        rollouts=2,
        single_time=False,
        every_episode=True,
        horizon=HORIZON,
        seed=7,
        purpose=tg.Purpose.TRAINING,
        iteration=0,
        episodes=EPISODES,
        precision="float64",
    )
    expected = 2 * plain["every_episode"].reshape(-1, ARMS).sum(axis=1)[:EPISODES]
    np.testing.assert_allclose(regrets, plain["regret_mean"], atol=1e-11)
    np.testing.assert_allclose(gradients, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
