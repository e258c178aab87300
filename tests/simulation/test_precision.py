"""float32 against float64 on problems of extreme priors, offsets and scales: they agree, or float32 is refused."""

import jax
import numpy as np
import pytest

import tsgrad as tg
from tsgrad import native
from tsgrad.simulation import ready_for, simulation_engine

HORIZON, EPISODES = 12, 1024
Z = 4.5  # one false alarm in 150,000; 80 comparisons
SLACK = 0.01  # of the regret: choices that rounding decides, either way
ARMS = 3
FEATURES = np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8]])


def gaussian(**options):
    return tg.GaussianBandit(arms=ARMS, **options)


def bernoulli(alpha, beta):
    return tg.BernoulliBandit(alpha=alpha, beta=beta, arms=ARMS)


def poisson(shape, rate):
    return tg.PoissonBandit(shape=shape, rate=rate, arms=ARMS)


def unknown(**options):
    return tg.UnknownVarianceBandit(arms=ARMS, **options)


def linear(**options):
    return tg.LinearBandit(features=FEATURES, **options)


def logistic(**options):
    return tg.LogisticBandit(features=FEATURES, **options)


def ball(**options):
    return tg.BallBandit(dimension=2, **options)


AGREE = {
    "gaussian, offset 1e4": gaussian(prior_mean=1e4),
    "gaussian, offset -9e4": gaussian(prior_mean=-9e4),
    "gaussian, units of 1e-12": gaussian(prior_std=1e-12, noise_std=1e-12),
    "gaussian, units of 1e12": gaussian(prior_std=1e12, noise_std=1e12, prior_mean=1e15),
    "gaussian, hardly any noise": gaussian(noise_std=1e-10),
    "gaussian, all noise": gaussian(noise_std=1e6),
    "gaussian, one arm is known": gaussian(prior_std=[1.0, 1.0, 1e-9], prior_mean=[0.0, 0.0, 0.5]),
    "gaussian, noise of many sizes": gaussian(noise_std=[1e-6, 1.0, 1e6]),
    "bernoulli, nearly nothing known": bernoulli(1e-3, 1e-3),
    "bernoulli, rare": bernoulli(0.001, 0.999),
    "bernoulli, certain": bernoulli(0.999, 0.001),
    "bernoulli, strong": bernoulli(1e6, 3e6),
    "bernoulli, rare and strong": bernoulli(0.5, 5000.0),
    "bernoulli, rarer": bernoulli(1.0, 1e6),
    "bernoulli, arms unlike each other": bernoulli([1e-3, 1.0, 1e5], [1.0, 1.0, 1e5]),
    "poisson, nothing comes": poisson(0.01, 1.0),
    "poisson, rare": poisson(1.0, 1e6),
    "poisson, many": poisson(1e6, 10.0),
    "poisson, strong": poisson(1e6, 1e6),
    "unknown variance, offset": unknown(prior_mean=1e4),
    "unknown variance, units of 1e-6": unknown(rate=1e-12),
    "unknown variance, units of 1e6": unknown(rate=1e12),
    "unknown variance, means far apart": unknown(prior_weight=1e-3),
    "unknown variance, means alike": unknown(prior_weight=1e3),
    "linear, offset": linear(prior_mean=[1e3, 5e2]),
    "linear, units of 1e-6": linear(prior_covariance=1e-12, noise_std=1e-6),
    "linear, hardly any noise": linear(noise_std=1e-5),
    "linear, nearly one direction": linear(prior_covariance=[[1.0, 0.9999], [0.9999, 1.0]]),
    "logistic, wide": logistic(prior_covariance=400.0),
    "logistic, far": logistic(prior_mean=[5.0, 2.5], prior_covariance=0.01),
    "ball, units of 1e6": ball(prior_covariance=1e12, noise_std=1e6),
    "ball, hardly any noise": ball(noise_std=1e-4),
}

REFUSED = {
    "gaussian, offset 1e8": gaussian(prior_mean=1e8),
    "gaussian, no noise to speak of": gaussian(noise_std=1e-20),
    "gaussian, units of 1e-25": gaussian(prior_std=1e-25, noise_std=1e-25),
    "bernoulli, too strong": bernoulli(1e9, 1e9),
    "poisson, counts of 1e10": poisson(1e7, 1e-3),
    "unknown variance, no variance": unknown(shape=0.05, rate=0.05),
    "linear, one direction": linear(prior_covariance=[[1.0, 1 - 1e-8], [1 - 1e-8, 1.0]]),
    "ball, no noise to speak of": ball(noise_std=1e-9),
}


def engines(problem):
    return ["jax", "native"] if native.kernel_for(problem, tg.Thompson()) is not None else ["jax"]


def regrets(problem, precision, engine):
    return tg.simulate(
        problem, tg.Thompson(), horizon=HORIZON, episodes=EPISODES, seed=0, precision=precision, engine=engine
    ).regret


@pytest.mark.quick("gaussian, offset 1e4", "bernoulli, rare")
@pytest.mark.formulas
@pytest.mark.parametrize("problem", AGREE.values(), ids=AGREE)
def test_float32_agrees_with_float64(problem):
    """Mean regrets on common episodes, on either engine, within Z paired standard errors and SLACK of the regret."""
    expected = regrets(problem, "float64", "jax")
    for engine in engines(problem):
        difference = regrets(problem, "float32", engine) - expected
        error = difference.std(ddof=1) / np.sqrt(EPISODES)
        assert abs(difference.mean()) < Z * error + SLACK * expected.mean(), engine


@pytest.mark.formulas
@pytest.mark.parametrize("problem", REFUSED.values(), ids=REFUSED)
def test_float32_is_refused_with_the_remedy(problem):
    for engine in engines(problem):
        with pytest.raises(tg.BadInput, match="in float32: use precision='float64'"):
            regrets(problem, "float32", engine)
        assert np.all(np.isfinite(regrets(problem, "float64", engine)))


def test_there_are_forty():
    assert len(AGREE) + len(REFUSED) == 40


def test_trainings_and_gradients_are_refused_too():
    problem = REFUSED["gaussian, offset 1e8"]
    policy = tg.ReshapedThompson(problem)
    with pytest.raises(tg.BadInput, match=r"prior_mean must be within .* use precision='float64'"):
        tg.gradient(problem, policy, tg.Estimator("mean", "oracle"), horizon=3, episodes=2, seed=0)
    with pytest.raises(tg.BadInput, match=r"prior_mean must be within .* use precision='float64'"):
        tg.train(problem, policy, horizon=3)


def test_beliefs_that_are_no_numbers_are_refused():
    """From them an arm would follow all the same, the first one."""
    problem = tg.LinearBandit(features=lambda noise, t: FEATURES / (t < 3))
    with pytest.raises(tg.BadInput, match="regret of episode 0 is nan: use precision='float64', or check contexts"):
        tg.simulate(problem, tg.Thompson(), horizon=4, episodes=2, seed=0)


@pytest.mark.parametrize(
    ("problem", "policy"),
    [
        (tg.LinearBandit(features=np.eye(3)), tg.Thompson()),
        (tg.LogisticBandit(features=np.eye(2)), tg.Thompson()),
        (tg.GaussianBandit(arms=3), tg.InformationDirected()),
        (tg.BernoulliBandit(arms=2), tg.InformationDirected()),
    ],
    ids=["linear", "logistic", "information, gaussian", "information, bernoulli"],
)
def test_no_product_is_left_to_what_a_device_takes_for_precise(problem, policy, monkeypatch):
    """Every product in the program of a block says how precise it must be; processors don't care, accelerators do."""
    programs = []

    def lowered(policy, traced, block):
        programs.append(jax.jit(lambda number: compute(policy, traced, number)).lower(block).as_text())
        raise StopIteration

    workload = tg.Workload(horizon=3, episodes=1, seed=0, purpose=tg.Purpose.EVALUATION)
    ready = ready_for(problem, policy, workload)
    engine = simulation_engine(problem, ready, engine="jax")
    compute = engine.compute
    monkeypatch.setattr(engine, "compute", lowered)
    with pytest.raises(RuntimeError):  # nothing need be compiled
        list(engine.blocks(ready, workload))
    products = [line for line in programs[0].splitlines() if "stablehlo.dot_general" in line]
    assert products
    assert all("HIGHEST" in line for line in products)
