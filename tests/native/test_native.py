"""The native engine against the JAX engine on the same seeds, and against itself on other threads and instructions."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tsgrad as tg
from exact import bernoulli_gradient, gaussian_gradient
from false_alarms import largest_z, z_bound
from tsgrad import native
from tsgrad.estimate import gradient_engine
from tsgrad.policies import Bonus, parameter_vector, with_parameters

ROOT = Path(__file__).parents[2]
PAIRS = [f"{metric}/{baseline}" for metric, baseline in itertools.product(native.METRICS, native.BASELINES)]
GAUSSIAN = tg.GaussianBandit(prior_mean=[0.0, 0.2, -0.3], prior_std=[1.0, 0.8, 1.2], noise_std=[1.0, 0.4, 2.0])
BERNOULLI = tg.BernoulliBandit(alpha=[1.0, 2.0, 0.5], beta=[1.0, 1.5, 2.0])
ALIKE = tg.GaussianBandit(arms=4, noise_std=0.8)
OTHER_GAUSSIAN = tg.Misspecified(
    truth=tg.GaussianBandit(prior_mean=[0.5, -0.2, 0.1], prior_std=[0.5, 1.4, 1.0], noise_std=[2.0, 0.7, 1.0]),
    model=GAUSSIAN,
)
OTHER_BERNOULLI = tg.Misspecified(
    truth=tg.BernoulliBandit(alpha=[3.0, 1.0, 1.0], beta=[2.0, 1.0, 4.0]), model=BERNOULLI
)


def bonus(arms, **options):
    """Away from its start, and scaled to six steps."""
    draw = np.random.default_rng(9).standard_normal
    scales = {"most_left": 6, "least_known": 0.25, "most_known": 20.0}
    return Bonus(
        bonus=0.3 * draw(6),
        log_spread=0.3 * draw(6),
        **scales,
        **options,
    )


def moved(problem, shared=False):
    policy = tg.ReshapedThompson(problem, shared=shared)
    vector = parameter_vector(policy)
    return with_parameters(policy, vector + 0.3 * np.random.default_rng(1).standard_normal(vector.shape))


def index_policy(rows, steps, cells, spread=None):
    draw = np.random.default_rng(2).uniform
    return tg.IndexPolicy(
        table=draw(0, 1, (rows, steps, cells)), spread=None if spread is None else draw(0, 1, (*spread, cells))
    )


CASES = {
    "gaussian, plain": (GAUSSIAN, tg.Thompson()),
    "gaussian, reshaped": (GAUSSIAN, moved(GAUSSIAN)),
    "gaussian, shared": (ALIKE, moved(ALIKE, shared=True)),
    "gaussian, bonus": (GAUSSIAN, bonus(3)),
    "gaussian, index": (GAUSSIAN, index_policy(3, 30, 30)),
    "gaussian, one index": (GAUSSIAN, index_policy(1, 30, 30, spread=(3, 1))),
    "gaussian, index for all times": (GAUSSIAN, index_policy(3, 1, 30, spread=(1, 30))),
    "bernoulli, plain": (BERNOULLI, tg.Thompson()),
    "bernoulli, reshaped": (BERNOULLI, moved(BERNOULLI)),
    "bernoulli, bonus": (BERNOULLI, bonus(3)),
    "bernoulli, bonus below a ceiling": (BERNOULLI, bonus(3, ceiling=1.0)),
    "bernoulli, index": (BERNOULLI, index_policy(3, 30, 465)),
    "bernoulli, one index": (BERNOULLI, index_policy(1, 1, 465, spread=(1, 1))),
    "gaussian, reshaped, another truth": (OTHER_GAUSSIAN, moved(GAUSSIAN)),
    "bernoulli, bonus, another truth": (OTHER_BERNOULLI, bonus(3)),
}
of_cases = pytest.mark.parametrize(("problem", "policy"), CASES.values(), ids=CASES)
TRAINED = {name: case for name, case in CASES.items() if not isinstance(case[1], tg.Thompson | tg.IndexPolicy)}
of_trained = pytest.mark.parametrize(("problem", "policy"), TRAINED.values(), ids=TRAINED)


def native_simulation(problem, policy, episodes, **options):
    where = {"seed": 3, "purpose": tg.Purpose.EVALUATION, "iteration": 0, "episodes": episodes, **options}
    (result,) = native.simulation_blocks(native.kernel_for(problem, policy), trajectories=True, **where)
    return {
        name: result[name].reshape(-1, *result[name].shape[2:])[:episodes] for name in ("arms", "rewards", "regret")
    }


def test_the_engine_was_built():
    assert native.why_unavailable() is None


def check_summaries(ours, theirs):
    for name in ("regret", "reward", "regret_over_time", "pulls"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-11, atol=1e-11)


@pytest.mark.formulas
@pytest.mark.quick("gaussian, reshaped", "gaussian, one index", "bernoulli, plain", "bernoulli, bonus")
@of_cases
def test_the_same_choices_in_float64(problem, policy):
    """Every arm at every step, every reward to rounding, of 2,000 episodes; and what is made of them."""
    ours = native_simulation(problem, policy, 2000, horizon=30, precision="float64")
    options = {"horizon": 30, "episodes": 2000, "seed": 3, "precision": "float64"}
    theirs = tg.simulate(problem, policy, trajectories=True, engine="jax", **options)
    np.testing.assert_array_equal(ours["arms"], theirs.trajectories.arm)
    np.testing.assert_allclose(ours["rewards"], theirs.trajectories.reward, atol=1e-12)
    np.testing.assert_allclose(ours["regret"], theirs.regret, atol=1e-11)
    check_summaries(tg.simulate(problem, policy, engine="native", **options), theirs)


@pytest.mark.formulas
@pytest.mark.parametrize("case", ["gaussian, bonus", "bernoulli, index"])
def test_the_same_summaries_where_no_step_is_kept(case):
    options = {"horizon": 30, "episodes": 1000, "seed": 4, "precision": "float64"}
    check_summaries(*(tg.simulate(*CASES[case], engine=engine, **options) for engine in ("native", "jax")))


@pytest.mark.formulas
@pytest.mark.quick("False-gaussian, reshaped", "False-bernoulli, reshaped", "True-gaussian, bonus")
@of_trained
@pytest.mark.parametrize("single_time", [False, True])
def test_the_same_gradients_in_float64(problem, policy, single_time):
    """Of every episode, to 1e-9 of the mean absolute gradient, which is less than the sum of absolute terms."""
    estimators = {pair: tg.Estimator(*pair.split("/"), single_time=single_time) for pair in PAIRS}
    options = {"horizon": 6, "episodes": 700, "seed": 5, "precision": "float64"}
    theirs = tg.episode_gradients(problem, policy, estimators, engine="jax", **options)
    for pair, estimator in estimators.items():
        ours = tg.episode_gradients(problem, policy, {pair: estimator}, engine="native", **options)[pair]
        scale = np.abs(theirs[pair]).mean(axis=0)
        assert np.max(np.abs(ours - theirs[pair]) / scale) < 1e-9, pair


@pytest.mark.formulas
@pytest.mark.quick("conditional-gaussian, bonus", "draw-bernoulli, reshaped")
@of_trained
@pytest.mark.parametrize("score", ["conditional", "draw"])
def test_the_same_gradient_record(problem, policy, score):
    """Mean, standard error, Fisher matrix and regret, with more than two rollouts and a block that is not full."""
    options = {"horizon": 6, "episodes": 700, "seed": 6, "precision": "float64", "fisher": True}
    estimator = tg.Estimator("mean", "self", rollouts=3, score=score)
    ours, theirs = (tg.gradient(problem, policy, estimator, engine=engine, **options) for engine in ("native", "jax"))
    assert ours.names == theirs.names
    for name in ("mean", "standard_error", "regret", "regret_standard_error", "fisher"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-11)


@of_trained
@pytest.mark.parametrize("score", ["conditional", "draw"])
def test_every_trained_law_has_both_scores(problem, policy, score):
    estimators = (tg.Estimator("bayes", "self", rollouts=4, score=score),)
    assert gradient_engine(problem, policy, estimators).name == "native"


@pytest.mark.long
@pytest.mark.parametrize("engine", ["native", "jax"])
def test_few_episodes_flip_in_float32(engine):
    """T = 500, K = 10: at most 1% of episodes part from their float64 selves at a near-tie."""
    problem = tg.GaussianBandit(arms=10)
    exact = native_simulation(problem, tg.Thompson(), 4096, horizon=500, precision="float64")["arms"]
    if engine == "native":
        arms = native_simulation(problem, tg.Thompson(), 4096, horizon=500, precision="float32")["arms"]
    else:
        options = {"horizon": 500, "episodes": 4096, "seed": 3, "engine": "jax", "trajectories": True}
        arms = tg.simulate(problem, tg.Thompson(), **options).trajectories.arm
    assert np.any(arms != exact, axis=1).mean() <= 0.01


@pytest.mark.long
def test_engines_agree_in_float32():
    """Standard setting: episodes flipped between engines at most 1%, gradients within 0.05 standard errors."""
    problem = tg.GaussianBandit(arms=10)
    policy = tg.ReshapedThompson(problem)
    options = {"horizon": 500, "episodes": 2048, "seed": 3}
    ours = native_simulation(problem, policy, 2048, horizon=500, precision="float32")["arms"]
    theirs = tg.simulate(problem, policy, engine="jax", trajectories=True, **options).trajectories.arm
    assert np.any(ours != theirs, axis=1).mean() <= 0.01
    for pair in ("mean/oracle", "mean/self"):
        estimator = tg.Estimator(*pair.split("/"))
        one, other = (tg.gradient(problem, policy, estimator, engine=engine, **options) for engine in ("native", "jax"))
        assert np.max(np.abs(one.mean - other.mean) / other.standard_error) < 0.05


@pytest.mark.parametrize("horizon", [1, 2])
@pytest.mark.parametrize(
    ("problem", "exact"),
    [
        (tg.GaussianBandit(prior_mean=[0.2, -0.1], prior_std=[1.0, 0.7], noise_std=[0.5, 1.3]), gaussian_gradient),
        (tg.BernoulliBandit(alpha=[1.0, 2.0], beta=[1.5, 1.2]), bernoulli_gradient),
    ],
    ids=["gaussian", "bernoulli"],
)
def test_every_pair_is_unbiased(problem, exact, horizon):
    """12 pairs x 8 meta-parameters, 200,000 episodes, float32: 1 false alarm in 1,000 seeds."""
    policy = moved(problem)
    truth = exact(problem, policy, horizon)
    for pair in PAIRS:
        estimator = tg.Estimator(*pair.split("/"))
        found = tg.gradient(problem, policy, estimator, horizon=horizon, episodes=200_000, seed=7, engine="native")
        assert largest_z(found.mean, truth, found.standard_error) < z_bound(len(PAIRS) * truth.size), pair


@pytest.mark.parametrize("precision", ["float32", "float64"])
@of_trained
def test_threads_and_instruction_sets_change_no_bit(problem, policy, precision):
    where = {"horizon": 40, "seed": 8, "purpose": tg.Purpose.TRAINING, "iteration": 2, "episodes": 1300}
    kernel = native.kernel_for(problem, policy)
    scores = {"obs/oracle": "conditional", "mean/self": "draw", "bayes/null": "draw", "fin/oracle": "conditional"}
    for (pair, score), single_time in itertools.product(scores.items(), (False, True)):
        metric, baseline = pair.split("/")
        options = {"metric": metric, "baseline": baseline, "rollouts": 2 if baseline == "self" else 1, **where}
        results = [
            next(
                native.gradient_blocks(
                    kernel,
                    single_time=single_time,
                    conditional=score == "conditional",
                    precision=precision,
                    threads=threads,
                    instruction_set=instructions,
                    **options,
                )
            )
            for threads, instructions in [
                (1, None),
                (2, None),
                (7, None),
                *((2, name) for name in native.compiled().instruction_sets()),
            ]
        ]
        for name, other in itertools.product(results[0], results[1:]):
            np.testing.assert_array_equal(results[0][name], other[name])


@of_cases
def test_threads_and_instruction_sets_change_no_episode(problem, policy):
    options = {"horizon": 30, "precision": "float32"}
    reference = native_simulation(problem, policy, 1300, threads=1, **options)
    for threads, instructions in [(2, None), (7, None), *((2, name) for name in native.compiled().instruction_sets())]:
        other = native_simulation(problem, policy, 1300, threads=threads, instruction_set=instructions, **options)
        for name in reference:
            np.testing.assert_array_equal(reference[name], other[name])


def test_more_episodes_than_one_call_takes(monkeypatch):
    """Calls are bounded in blocks; their results are put together."""
    whole = tg.gradient(GAUSSIAN, moved(GAUSSIAN), tg.Estimator(), horizon=5, episodes=2000, seed=9, engine="native")
    monkeypatch.setattr("tsgrad.native.kernels._BLOCKS_A_CALL", 3)
    parts = tg.gradient(GAUSSIAN, moved(GAUSSIAN), tg.Estimator(), horizon=5, episodes=2000, seed=9, engine="native")
    np.testing.assert_array_equal(whole.mean, parts.mean)
    assert tg.simulate(GAUSSIAN, tg.Thompson(), horizon=5, episodes=2000, seed=9, engine="native").regret.shape == (
        2000,
    )


LONG_CALL = """
import signal
import tsgrad as tg
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process started in the background ignores it
problem = tg.GaussianBandit(arms=20)
policy = tg.ReshapedThompson(problem)
tg.gradient(problem, policy, tg.Estimator("mean", "oracle"), horizon=10, episodes=100, seed=0, engine="native")
print("ready", flush=True)
tg.gradient(problem, policy, tg.Estimator("mean", "oracle"), horizon=200_000, episodes=200_000, seed=0, engine="native")
"""


def test_interrupt_ends_a_long_call():
    """A call of many minutes; it must end of the interrupt, not of its work."""
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_CALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


@pytest.mark.long
def test_without_a_compiler_the_install_succeeds(tmp_path):
    """And says what is lost, and the library works."""
    environment = {**os.environ, "CXX": "/bin/false"}
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--target",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert (tmp_path / "tsgrad" / "native" / "kernels.py").exists()
    assert not list((tmp_path / "tsgrad" / "native").glob("_kernels*"))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "sys.meta_path = [one for one in sys.meta_path if 'Redirecting' not in type(one).__name__]\n"
        "import tsgrad as tg; from tsgrad import native\n"
        "print(tg.__file__); print(native.why_unavailable())\n"
        "print(tg.simulate(tg.GaussianBandit(arms=2), tg.Thompson(), horizon=2, episodes=3, seed=0).regret.shape)"
    )
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert str(tmp_path) in output
    assert "not built: install tsgrad where there is a C++20 compiler" in output
    assert "(3,)" in output


class Namesake(tg.SeparableMetric):
    """A user's metric; its class is called like a metric that kernels have."""

    def rewards(self, episode, run):
        return 0 * run.reward

    def oracle_rewards(self, episode):
        return 0 * episode.instance.rewards(episode.instance.best_arms())


Namesake.__name__ = "mean"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: tg.gradient(
                GAUSSIAN, moved(GAUSSIAN), tg.Estimator("q", "null"), horizon=2, episodes=4, seed=0, engine="native"
            ),
            "engine 'native' can't run this: it has no kernel for q/null; use engine='auto'",
        ),
        (
            lambda: tg.gradient(
                GAUSSIAN,
                moved(GAUSSIAN),
                tg.Estimator(Namesake(), "null"),
                horizon=2,
                episodes=4,
                seed=0,
                engine="native",
            ),
            "it has no kernel for mean/null",
        ),
        (
            lambda: tg.gradient(
                GAUSSIAN,
                moved(GAUSSIAN),
                tg.Estimator(world="posterior"),
                horizon=2,
                episodes=4,
                seed=0,
                engine="native",
            ),
            "it reads the true world",
        ),
        (
            lambda: tg.simulate(
                GAUSSIAN, tg.Thompson(), horizon=2, episodes=4, seed=0, engine="native", trajectories=True
            ),
            "its trajectories hold no beliefs",
        ),
        (
            lambda: tg.simulate(GAUSSIAN, tg.Thompson(), horizon=2, episodes=4, seed=0, engine="naive"),
            r"engine must be one of auto, jax, native, got 'naive' \(did you mean 'native'\?\)",
        ),
        (
            lambda: tg.simulate(GAUSSIAN, index_policy(2, 30, 30), horizon=30, episodes=4, seed=0),
            r"table must be \(3 or 1, 30 or 1, 30\) for this problem and horizon, got \(2, 30, 30\)",
        ),
        (
            lambda: tg.simulate(BERNOULLI, index_policy(1, 1, 465, (2, 1)), horizon=30, episodes=4, seed=0),
            r"spread must be \(3 or 1, 30 or 1, 465\) for this problem and horizon, got \(2, 1, 465\)",
        ),
        (
            lambda: tg.IndexPolicy(table=np.zeros((2, 3))),
            r"table must be \[arm or 1, t or 1, cell\], got shape \(2, 3\)",
        ),
    ],
)
def test_bad_input(ask, message):
    with pytest.raises(tg.BadInput, match=message):
        ask()


@pytest.mark.long
@pytest.mark.formulas
def test_auto_falls_back_where_there_is_no_kernel():
    found = tg.gradient(GAUSSIAN, moved(GAUSSIAN), tg.Estimator("q", "value"), horizon=2, episodes=4, seed=0)
    assert found.mean.shape == (12,)


def test_a_prior_that_is_worth_far_more_than_the_horizon():
    """Strength is then all but the same number throughout, and scaled to the middle of its range on both engines."""
    problem = tg.GaussianBandit(arms=3, prior_std=1e-5)
    policy = tg.BonusThompson(problem, degree=1)
    policy = with_parameters(policy, np.array([0.1, 0.2, 0.7, -0.1, 0.1, 0.5]))
    engines = [
        tg.simulate(problem, policy, horizon=20, episodes=256, seed=3, engine=engine, precision="float64").regret
        for engine in ("jax", "native")
    ]
    np.testing.assert_allclose(*engines, rtol=1e-9)
