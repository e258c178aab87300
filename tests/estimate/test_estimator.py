"""Estimators: which are on offer, and which are refused."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import pytest

import tsgrad as tg
from tsgrad.training.settings import EstimatorSettings

pytestmark = pytest.mark.formulas


class Correlated(tg.FiniteArms):
    """A bandit whose arms share one mean: enough of a problem to be refused by `fin`."""

    arms = 2

    def draw_world(self, noise): ...
    def draw_context(self, previous, noise, t): ...
    def reward(self, world, context, arm, noise): ...
    def prior(self, horizon): ...
    def update(self, belief, context, arm, reward): ...
    def posterior(self, belief): ...
    def means(self, world, context): ...
    def arm_moments(self, belief, context): ...
    def strength(self, belief, context): ...


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: tg.Estimator("meen", "self"),
            r"metric must be one of obs, mean, fin, bayes, q.*, got 'meen' \(did you mean 'mean'\?\)",
        ),
        (
            lambda: tg.Estimator("mean", "selfish"),
            r"baseline must be one of null, oracle, self, value.*, got 'selfish'",
        ),
        (lambda: tg.Estimator(3, "self"), "metric must be a name or a Metric, got 3"),
        (lambda: tg.Estimator("mean", "self", rollouts=1), "rollouts must be an integer >= 2, got 1"),
        (lambda: tg.Estimator("mean", "self", rollouts="5"), "rollouts must be an integer >= 2, got '5'"),
        (lambda: tg.Estimator("mean", "self", single_time="false"), "single_time must be True or False, got 'false'"),
        (lambda: tg.Estimator("mean", "null", rollouts=2), "rollouts must be left out with baseline 'null'"),
        (
            lambda: tg.Estimator("mean", "self", lookaheads=3),
            "lookaheads must be left out unless metric is 'q' or baseline is 'value'",
        ),
        (lambda: tg.Estimator("q", "null", lookaheads=0), "lookaheads must be an integer >= 1, got 0"),
        (lambda: tg.Estimator("q", "null", world="dream"), "world must be one of true, posterior, got 'dream'"),
        (
            lambda: tg.Estimator("fin", "null").check(Correlated()),
            "metric 'fin' is for IndependentArms only, got Correlated",
        ),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(tg.BadInput, match=message):
        build()


def test_an_estimator_is_the_same_in_python_and_in_files():
    """What is not said of one that is named has one default: stating that default changes nothing."""
    told = EstimatorSettings(metric="mean", baseline="self").build()
    assert told == tg.Estimator("mean", "self") == tg.Estimator() == EstimatorSettings().build()
    assert told.rollouts == 2


def test_other_metrics_take_any_problem():
    for metric in ("obs", "mean", "bayes", "q"):
        tg.Estimator(metric, "oracle").check(Correlated())


def test_a_policy_with_nothing_to_train_has_an_empty_gradient():
    found = tg.gradient(tg.GaussianBandit(arms=2), tg.Thompson(), tg.Estimator(), horizon=2, episodes=4, seed=0)
    assert found.mean.shape == (0,)
    assert found.names == ()


def test_no_estimators():
    problem = tg.GaussianBandit(arms=2)
    with pytest.raises(tg.BadInput, match="estimators must name at least one estimator"):
        tg.episode_gradients(problem, tg.ReshapedThompson(problem), {}, horizon=2, episodes=4, seed=0)
    record = tg.Recorded(context=None, pseudo_action=jnp.zeros((1, 1, 2)), arm=[[0]], reward=[[1.0]])
    with pytest.raises(tg.BadInput, match="estimators must name at least one estimator"):
        tg.recorded_gradients(problem, tg.ReshapedThompson(problem), {}, record, seed=0)


def test_one_record_needs_one_world():
    problem = tg.GaussianBandit(arms=2)
    estimators = {"a": tg.Estimator(world="true"), "b": tg.Estimator(world="posterior")}
    with pytest.raises(tg.BadInput, match="must have the same world"):
        tg.episode_gradients(problem, tg.ReshapedThompson(problem), estimators, horizon=2, episodes=4, seed=0)


def test_a_users_baseline_can_compare_runs():
    """The largest of the other runs' values, of three."""

    class BestOther(tg.Baseline):
        compares_rollouts: ClassVar[bool] = True

        def values(self, metric, episode, metrics):
            others = jnp.where(jnp.eye(metrics.shape[0], dtype=bool)[:, :, None], -jnp.inf, metrics[None])
            return jnp.max(others, axis=1)

    problem = tg.GaussianBandit(arms=2)
    estimator = tg.Estimator("mean", BestOther(), rollouts=3)
    assert estimator.rollouts == 3
    found = tg.gradient(problem, tg.ReshapedThompson(problem), estimator, horizon=3, episodes=500, seed=1)
    assert found.mean.shape == (8,)


def test_a_users_baseline_is_one_small_class():
    """A constant baseline leaves the gradient where it is, and is at its best at the mean reward."""

    class Constant(tg.Baseline):
        per_step: float = eqx.field(static=True)

        def values(self, metric, episode, metrics):
            return jnp.broadcast_to(self.per_step * episode.left, metrics.shape)

    problem = tg.GaussianBandit(arms=2, prior_mean=5.0)
    policy = tg.ReshapedThompson(problem)
    estimators = {"null": tg.Estimator("mean", "null"), "five": tg.Estimator("mean", Constant(5.0))}
    found = tg.episode_gradients(problem, policy, estimators, horizon=3, episodes=4000, seed=1)
    assert found["five"].var(axis=0).sum() < 0.2 * found["null"].var(axis=0).sum()
    assert tg.Estimator("mean", Constant(5.0)).name == "mean/Constant"
