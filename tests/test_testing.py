"""The conformance checks catch what they are for, and say what it is."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from tsgrad.laws import NormalDraw, NormalLaw, ProductLaw
from tsgrad.policies import Memoryless

pytestmark = pytest.mark.formulas


class Unnormalised(ProductLaw):
    """A normal law that forgot its scale."""

    inner: NormalLaw

    def sample(self, noise):
        return self.inner.sample(noise)

    def arm_log_prob(self, pseudo_action):
        return self.inner.arm_log_prob(pseudo_action) + jnp.log(self.inner.scale)


@tg.register("flawed")
class Flawed(tg.IndependentArms):
    """Two Gaussian arms with prior N(0, 4) and unit noise, and one flaw."""

    flaw: str = eqx.field(static=True)

    def __init__(self, *, flaw: str):
        self.flaw = flaw + "!" if flaw.startswith("round trip") else flaw

    @property
    def arms(self) -> int:
        return 2

    def draw_world(self, noise: Any) -> NormalDraw:
        scale = 3.0 if self.flaw == "prior" else 2.0
        return NormalLaw(jnp.zeros(2), jnp.full(2, scale)).sample(noise)

    def means(self, world: NormalDraw, context: tg.Context) -> Any:
        return world.value

    def reward(self, world: NormalDraw, context: tg.Context, arm: Any, noise: Any) -> Any:
        bias = 0.2 if self.flaw == "reward" else 0.0
        return world.value[arm] + bias + noise.normal(arm)

    def prior(self, horizon: int) -> Any:
        nothing = jnp.zeros(2, int) if self.flaw == "belief" else jnp.zeros(2)
        return (nothing, jnp.zeros(2))

    def evidence(self, rewards: Any) -> Any:
        return (jnp.ones_like(rewards), rewards)

    def posterior(self, belief: Any) -> Any:
        precision = 0.25 + belief[0] * (2.0 if self.flaw == "posterior" else 1.0)
        law = NormalLaw(belief[1] / (0.25 + belief[0]), 1 / jnp.sqrt(precision))
        return Unnormalised(law) if self.flaw == "density" else law

    def arm_moments(self, belief: Any, context: tg.Context) -> tg.ArmMoments:
        weight = 0.0 if self.flaw == "posterior mean" else 0.25
        return tg.ArmMoments(belief[1] / jnp.maximum(weight + belief[0], 0.25), 1 / jnp.sqrt(0.25 + belief[0]))

    def strength(self, belief: Any, context: tg.Context) -> Any:
        return 0.25 + belief[0]


@pytest.mark.parametrize(
    ("flaw", "message"),
    [
        ("belief", "update must return a belief like that of prior"),
        ("reward", "rewards: off by 0.2.* on average"),
        ("prior", "prior: coordinate 0 of draw_world has another law"),
        ("posterior", "update and posterior must follow Bayes' rule"),
        ("posterior mean", "posterior means: off by"),
        ("density", r"posterior\(belief\): exp\(log_prob\) integrates to"),
        ("round trip", "round trip to disk: Flawed built from its own fields differs from itself"),
    ],
)
def test_flaws_of_problems_are_found(flaw, message):
    with pytest.raises(tg.testing.CheckFailed, match=message):
        tg.testing.check_problem(Flawed(flaw=flaw))


def test_a_problem_without_flaw_passes():
    tg.testing.check_problem(Flawed(flaw="none"))


@tg.register("flawed-policy")
class FlawedPolicy(Memoryless, tg.SamplingPolicy):
    """Thompson sampling with a factor on standard deviations, and one flaw."""

    log_factor: Any
    flaw: str = eqx.field(static=True)

    def __init__(self, *, log_factor: Any, flaw: str):
        self.log_factor, self.flaw = np.asarray(log_factor, float), flaw

    def prepare(self, problem: Any, horizon: int) -> "FlawedPolicy":
        return self

    def law(self, model: Any, belief: Any, memory: None, context: tg.Context, clock: Any) -> Any:
        posterior = model.posterior(belief)
        # A gradient that is not the derivative of what is computed
        log_factor = self.log_factor - jax.lax.stop_gradient(0.5 * self.log_factor * (self.flaw == "score"))
        law = NormalLaw(posterior.location, posterior.scale * jnp.exp(log_factor))
        return Unnormalised(law) if self.flaw == "density" else law

    def choose(self, model: Any, draw: Any, context: tg.Context) -> Any:
        return jnp.argmax(draw.value) if self.flaw == "mask" else tg.largest(draw.value, context)

    def plays_largest(self, model: Any) -> bool:
        return True

    def trainable(self) -> Any:
        return jax.tree.map(lambda _: True, self)

    def meta_parameters(self) -> Any:
        return {"factor": np.exp(self.log_factor)}


@pytest.mark.parametrize(
    ("flaw", "message"),
    [
        ("score", "law: along log_factor the log-density changes by"),
        ("density", r"law\(...\): exp\(log_prob\) integrates to"),
        ("start", "plays other arms than plain Thompson sampling"),
        ("mask", "plays arm 0 at step 1, where context.available says it is not there"),
    ],
)
def test_flaws_of_policies_are_found(flaw, message):
    policy = FlawedPolicy(log_factor=0.3 if flaw == "start" else 0.0, flaw=flaw)
    with pytest.raises(tg.testing.CheckFailed, match=message):
        tg.testing.check_policy(policy, tg.GaussianBandit(arms=2), starts_as_thompson=True)


@pytest.mark.long
def test_probabilities_that_do_not_add_up_are_found(monkeypatch):
    monkeypatch.setattr(tg.CategoricalLaw, "log_prob", lambda self, pseudo_action: self.logits[pseudo_action])
    with pytest.raises(tg.testing.CheckFailed, match=r"law\(...\): exp\(log_prob\) integrates to 2"):
        tg.testing.check_policy(tg.SoftElim(), tg.BernoulliBandit(arms=2), horizon=2)


def test_only_classes_can_be_registered():
    for wrong in (None, 3, len, int):
        with pytest.raises(tg.BadInput, match="must decorate a problem, policy, metric or baseline"):
            tg.register("nothing")(wrong)


def test_what_is_not_registered_is_told_how():
    class Nameless(Memoryless, tg.Policy):
        def prepare(self, problem, horizon):
            return self

        def act(self, model, belief, memory, context, clock, noise):
            return tg.largest(jnp.zeros(model.arms), context)

    with pytest.raises(tg.testing.CheckFailed, match="decorate it with @tsgrad"):
        tg.testing.check_policy(Nameless(), tg.GaussianBandit(arms=2))
