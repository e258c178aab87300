"""One contract for every problem and every policy: each class that the library offers passes `tsgrad.testing`."""

import inspect
from functools import partial

import numpy as np
import pytest

import tsgrad as tg
from tsgrad import policies, problems
from tsgrad.policies import parameter_vector, with_parameters

pytestmark = pytest.mark.formulas

PROBLEMS = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.3, 0.0, -0.2], prior_std=[1.0, 0.5, 2.0], noise_std=[0.5, 1.0, 3.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 3.0, 0.7], beta=[1.0, 2.0, 2.2]),
    "poisson": tg.PoissonBandit(shape=[2.0, 3.0, 0.7], rate=[1.0, 2.0, 0.5]),
    "unknown variance": tg.UnknownVarianceBandit(prior_mean=[0.0, 0.5], shape=[2.0, 3.0]),
    "linear": tg.LinearBandit(
        features=[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.2, 0.1, 1.0]],
        prior_mean=[0.1, 0.0, -0.3],
        prior_covariance=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]],
        noise_std=[0.5, 1.0, 1.0, 2.0],
    ),
    "contexts": tg.LinearBandit(features=tg.GaussianContexts(arms=4, dimension=3)),
    "ball": tg.BallBandit(dimension=3, prior_mean=[0.5, 0.0, 0.0]),
    "logistic": tg.LogisticBandit(features=tg.GaussianContexts(arms=3, dimension=2), prior_mean=[0.5, 0.0]),
}
ALIKE = {"gaussian": tg.GaussianBandit(arms=3, noise_std=0.7), "bernoulli": tg.BernoulliBandit(arms=3, alpha=2.0)}
# A problem, and what makes the policy for it: networks are made where they are checked, not wherever tests are listed.
AS_THOMPSON = {
    **{f"reshaped, {name}": (problem, tg.ReshapedThompson) for name, problem in PROBLEMS.items()},
    **{f"shared, {name}": (problem, partial(tg.ReshapedThompson, shared=True)) for name, problem in ALIKE.items()},
    "plain": (PROBLEMS["gaussian"], lambda _: tg.Thompson()),
    "bonus, gaussian": (PROBLEMS["gaussian"], partial(tg.BonusThompson, degree=2)),
    "bonus, alike": (ALIKE["gaussian"], partial(tg.BonusThompson, degree=1)),
    **{
        f"recurrent, {name}": (PROBLEMS[name], partial(tg.RecurrentThompson, hidden=3))
        for name in ("gaussian", "bernoulli", "poisson", "unknown variance", "contexts", "ball")
    },
}


def optimistic(problem):
    """The bonus law with a bonus of one: at zero the second derivative of a bonus below a ceiling jumps."""
    policy = tg.BonusThompson(problem, degree=2)
    vector = parameter_vector(policy)
    vector[0] = 1.0
    return with_parameters(policy, vector)


OTHERS = {
    "recurrent, free": (PROBLEMS["gaussian"], partial(tg.RecurrentThompson, form="free", hidden=3)),
    **{f"SoftElim, {name}": (PROBLEMS[name], lambda _: tg.SoftElim()) for name in ("bernoulli", "linear")},
    "RL2, gaussian": (PROBLEMS["gaussian"], partial(tg.RL2, hidden=3)),
    **{
        f"bonus, {name}": (PROBLEMS[name], partial(tg.BonusThompson, degree=2))
        for name in ("poisson", "unknown variance", "linear", "contexts", "logistic")
    },
    "bonus, bernoulli": (PROBLEMS["bernoulli"], optimistic),
}
# Rivals that become an IndexPolicy are one policy to the engines: some of them stand for all.
RIVALS = {
    "gaussian": [
        tg.FiniteHorizonGittins(),
        tg.ScaledThompson(0.7),
        tg.KnowledgeGradient(),
        tg.InformationDirected("mutual"),
        tg.RelaxationSampling("FH"),
        tg.RelaxationSampling("V-Zero"),
        tg.RelaxationSampling("INDEX"),
    ],
    "bernoulli": [tg.BayesUCB(), tg.OptimisticGittins("left"), tg.InformationDirected()],
    "contexts": [tg.Greedy(), tg.Uniform(), tg.BayesUCB(0.9), tg.SatisficingThompson(0.2), tg.TopTwoThompson()],
    "linear": [tg.InformationDirected()],
}


@pytest.mark.quick("gaussian", "contexts")
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_problems(problem):
    tg.testing.check_problem(problem)


@pytest.mark.quick("plain", "reshaped, gaussian", "bonus, alike", "recurrent, gaussian")
@pytest.mark.parametrize(("problem", "build"), AS_THOMPSON.values(), ids=AS_THOMPSON)
def test_policies_that_start_as_thompson_sampling(problem, build):
    tg.testing.check_policy(build(problem), problem, starts_as_thompson=True)


@pytest.mark.quick("SoftElim, linear", "bonus, linear")
@pytest.mark.parametrize(("problem", "build"), OTHERS.values(), ids=OTHERS)
def test_other_policies(problem, build):
    tg.testing.check_policy(build(problem), problem)


@pytest.mark.quick("gaussian-rival0", "gaussian-rival1", "bernoulli-rival7", "contexts-rival10", "contexts-rival14")
@pytest.mark.parametrize(("name", "rival"), [(name, rival) for name, rivals in RIVALS.items() for rival in rivals])
def test_rivals(name, rival):
    tg.testing.check_policy(rival, PROBLEMS[name])


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_change_nothing(unit):
    """Rewards in other units, and noise over seven orders of magnitude: the same arms as plain Thompson sampling."""
    problem = tg.GaussianBandit(arms=3, prior_std=unit, noise_std=[0.1 * unit, unit, 1e6 * unit])
    plain, ours = (
        tg.simulate(problem, policy, horizon=8, episodes=256, seed=21, precision="float64", engine="jax")
        for policy in (tg.Thompson(), tg.ReshapedThompson(problem))
    )
    np.testing.assert_allclose(ours.regret, plain.regret, rtol=1e-9)


def test_policy_files(tmp_path):
    for name, (problem, build) in (AS_THOMPSON | OTHERS).items():
        policy = build(problem)
        moved = with_parameters(policy, parameter_vector(policy) + 1 / 3)
        moved.save(tmp_path / "policy.json")
        again = tg.load(tmp_path / "policy.json").policy
        assert type(again) is type(policy), name
        np.testing.assert_array_equal(parameter_vector(again), parameter_vector(moved))
        assert again.meta_parameters().keys() == policy.meta_parameters().keys()


@pytest.mark.parametrize(
    "cls", [cls for module in (problems, policies) for _, cls in inspect.getmembers(module, inspect.isclass)]
)
def test_classes_are_abstract_or_final(cls):
    """No concrete method of one of our classes is overridden by another."""
    for name, method in vars(cls).items():
        if inspect.isfunction(method) and not name.startswith("__"):
            for base in cls.__mro__[1:]:
                inherited = vars(base).get(name)
                if base.__module__.startswith("tsgrad") and inspect.isfunction(inherited):
                    assert getattr(inherited, "__isabstractmethod__", False), f"{cls.__name__}.{name}"
