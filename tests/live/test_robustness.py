"""What is left of a gain: scenarios are what they say, and gains those of comparisons."""

import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.live.scenarios import delayed, lasting, scenarios
from tsgrad.live.trust import Kept, Robustness
from tsgrad.policies import Bonus, ReshapedGaussian
from tsgrad.policies.own_clock import with_own_clock
from tsgrad.problems import UncertainPrior, drift_spread, with_noise, with_shifted_means, with_strength

pytestmark = pytest.mark.formulas

PROBLEMS = [
    tg.GaussianBandit(prior_mean=[0.5, 1.0], prior_std=0.5, noise_std=2.0),
    tg.BernoulliBandit(alpha=[2.0, 3.0], beta=7.0),
    tg.PoissonBandit(shape=[2.0, 3.0], rate=0.5),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_scenarios_are_what_they_say(problem):
    prior, nothing = problem.prior(1), tg.Context()
    moments, strength = problem.arm_moments(prior, nothing), problem.strength(prior, nothing)
    other = with_strength(problem, 4.0)
    np.testing.assert_allclose(other.strength(prior, nothing), 4 * strength, rtol=1e-5)
    np.testing.assert_allclose(other.arm_moments(prior, nothing).mean, moments.mean, rtol=1e-5)
    higher = with_shifted_means(problem, 1.0).arm_moments(prior, nothing).mean
    np.testing.assert_allclose(higher, moments.mean + moments.std, rtol=1e-5)
    said = [scenario.said for scenario in scenarios(problem, 10)]
    assert len(set(said)) == len(said) == (15 if with_noise(problem, 2.0) is not None else 13)


def test_every_kind_of_scenario_is_there_for_a_trained_policy():
    """With four arms two can go, two more can come, and the clock may be told or not."""
    problem = tg.GaussianBandit(arms=4, noise_std=[0.5, 1.0, 2.0, 3.0])
    found = {one.said: one for one in scenarios(problem, 10, policy=tg.ReshapedThompson(problem))}
    assert len(found) == 19
    more = found["Two arms more, like the last ones"]
    np.testing.assert_array_equal(more.problem.noise_std, [0.5, 1.0, 2.0, 3.0, 2.0, 3.0])
    np.testing.assert_array_equal(more.policy.log_precision_ratio[4:], more.policy.log_precision_ratio[2:4])
    fewer = found["Two arms fewer, the last ones"].conditions.mask(10)
    assert fewer[:, :2].all()
    assert not fewer[:, 2:].any()
    early = found["Stopped half way, unknown to the policy"]
    assert (early.horizon, early.policy.horizon) == (5, 10)
    assert found["Rewards 2 steps later than planned"].conditions.delay.tolist() == [0, 0, 1]


def test_scenarios_of_an_uncertain_prior_change_one_thing():
    """Priors stay as many as they were; none of the scenarios takes the model for the truth."""
    model = tg.GaussianBandit(arms=4, noise_std=1.0)
    rows = np.array([[0.0, 0.3, 1.0], [1.0, 3.0, 1.0]])
    problem = tg.Misspecified(truth=UncertainPrior(base=model, values=rows), model=model)
    policy = tg.Thompson()
    found = {one.said: one.problem for one in scenarios(problem, 10, policy=policy, reference=policy)}
    assert len(found) == 19
    strong = found["Prior worth four times what was assumed"].truth
    np.testing.assert_allclose(strong.values, rows * [1.0, 0.5, 1.0])
    np.testing.assert_allclose(found["Arms higher by a standard deviation"].truth.values[:, 0], [0.3, 4.0])
    np.testing.assert_allclose(found["Noise twice what was assumed"].truth.base.noise_std, 2.0)
    assert found["Two arms more, like the last ones"].truth.arms == 6
    for said, one in found.items():
        truth = one.truth.base if "drift" in said else one.truth
        assert isinstance(truth, UncertainPrior), said
        assert not isinstance(one.model, UncertainPrior)


def test_one_arm_alone_is_no_scenario_and_shifts_are_said_as_they_are():
    """Of Beta(0.5, 20), arms have a mean of 0.024 and a standard deviation of 0.033: they can't be lower by that."""
    said = [one.said for one in scenarios(tg.BernoulliBandit(alpha=0.5, beta=20.0, arms=3), 10)]
    assert "Two arms fewer, the last ones" not in said
    assert "Arms lower by 0.66 standard deviations, as far as there is room" in said
    assert "Arms higher by a standard deviation" in said


def test_policies_that_know_arms_by_number_have_no_more_of_them():
    problem = tg.BernoulliBandit(arms=4)
    said = {one.said for one in scenarios(problem, 10, policy=tg.RL2(problem, hidden=2))}
    assert "Two arms fewer, the last ones" in said
    assert "Two arms more, like the last ones" not in said


def test_the_experiments_own_conditions_hold_in_every_scenario():
    available = np.ones((4, 3), bool)
    available[0, 0] = False
    planned = tg.Conditions(batch=[5, 4, 3, 2], delay=1, floor=0.1, available=available)
    for one in scenarios(tg.BernoulliBandit(arms=3), 4, planned):
        one.conditions.check(one.problem, one.horizon)
        assert one.conditions.floor == pytest.approx(0.1)
        assert not one.conditions.mask(one.horizon)[0, 0]
    assert lasting(planned, 4, 6).batch == (5, 4, 3, 2, 2, 2)
    assert delayed(planned, 2, most=3).delay.tolist() == [0, 0, 0, 1, 0]


def test_a_policy_with_its_own_clock_plays_on_as_at_its_last_step():
    """The first steps are those of its own horizon, whatever the episode's, and told the same it is itself."""
    problem = tg.GaussianBandit(arms=3, noise_std=0.5)
    tuned = ReshapedGaussian(prior_mean=0.0, log_prior_variance=0.0, log_precision_ratio=0.5, decay=1.0)
    kept = {"episodes": 256, "seed": 0, "engine": "jax", "trajectories": True}
    own = tg.simulate(problem, tuned, horizon=4, **kept)
    longer = tg.simulate(problem, with_own_clock(tuned, 4), horizon=6, **kept)
    np.testing.assert_array_equal(longer.trajectories.arm[:, :4], own.trajectories.arm)
    law = with_own_clock(tuned, 4).law(problem, problem.prior(6), None, tg.Context(), tg.Clock(6, 6))
    last = tuned.law(problem, problem.prior(4), None, tg.Context(), tg.Clock(4, 4))
    np.testing.assert_allclose(law.scale, last.scale)
    timed = Bonus(bonus=[0.0, 1.0, 0.0], log_spread=[0.0] * 3, most_left=4, least_known=0.25, most_known=6)
    left = {4: tg.Clock(2, 4, jnp.array([3, 1, 3])), 6: tg.Clock(2, 6, jnp.array([5, 1, 5]))}  # one arm leaves
    own, longer = (
        policy.law(problem, problem.prior(6), None, tg.Context(), left[horizon]).location
        for policy, horizon in ((timed, 4), (with_own_clock(timed, 4), 6))
    )
    np.testing.assert_array_equal(own, longer)
    assert own[0] != own[1]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_arms_drift_by_what_is_said(problem):
    """The walk's end has the spread that is asked for: 512 walks of 9 steps of 2 arms, a false alarm once in 1,000."""
    truth = tg.DriftingArms(base=problem, step_std=drift_spread(problem) / 3)
    still = tg.DriftingArms(base=problem, step_std=0.0)
    kept = {"horizon": 10, "episodes": 512, "seed": 0, "trajectories": True}
    walks = tg.simulate(tg.Misspecified(truth=truth, model=problem), tg.Uniform(), **kept).trajectories.context.features
    ratio = np.var(walks[:, -1] / drift_spread(problem)) * np.sqrt(512 * 2 / 2)
    assert abs(ratio - np.sqrt(512)) < z_bound(1)
    world = problem.draw_world(tg.Address.of(seed=0, purpose=tg.Purpose.EVALUATION).noise(tg.Stream.WORLD))
    nothing = tg.Context(jnp.zeros(2))
    np.testing.assert_allclose(still.means(world, nothing), problem.means(world, nothing), rtol=1e-6)
    up = tg.Context(jnp.ones(2))
    assert np.all(still.means(world, up) > problem.means(world, up))


def test_gains_are_those_of_comparisons():
    problem = tg.GaussianBandit(arms=3)
    found = tg.robustness(tg.Greedy(), problem, horizon=4, episodes=256)
    worlds = tg.Misspecified(truth=with_strength(problem, 0.25), model=problem)
    for said, played in (("As assumed", problem), ("Prior worth a quarter of what was assumed", worlds)):
        policies = {"plain": tg.Thompson(), "greedy": tg.Greedy()}
        expected = tg.compare(played, policies, horizon=4, episodes=256, seed=0, bound=None)
        (kept,) = [one for one in found.scenarios if one.said == said]
        np.testing.assert_allclose((kept.gain, kept.standard_error), expected.difference("plain", "greedy"))


@pytest.mark.parametrize(
    ("gain", "words"), [(1.0, "a gain of 1 "), (-0.1, "no clear gain: -0.1 "), (-1.0, "a loss of 1 (s.e. 0.2), 10.0%")]
)
def test_sentences_say_what_is_left(gain, words):
    assert f": {words}" in str(Kept("Half the horizon", 10.0, gain, 0.2))


def test_the_verdict_says_where_it_turns_into_a_loss():
    assumed, good, bad = (Kept(said, 10.0, gain, 0.2, 0.3) for said, gain in (("A", 3), ("B", 1), ("C", -1)))
    assert Robustness([assumed, good, bad]).verdict == "The gain turns into a loss in 1 of 2 scenarios: c."
    assert "In none of 1 scenarios" in Robustness([assumed, good]).verdict
    assert str(good).endswith("10.0% of the regret (30.0% as assumed).")
    # Without a gain there is none to turn into a loss.
    assert Robustness([bad, good]).verdict == "There is a loss even if all is as assumed."
    nothing = Kept("N", 10.0, 0.1, 0.2, 0.3)
    assert Robustness([nothing, good, bad]).verdict == (
        "There is no clear gain even if all is as assumed, and a loss in 1 of 2 other scenarios: c."
    )


@pytest.mark.parametrize(
    ("policy", "problem", "options", "message"),
    [
        (tg.Thompson(), tg.BallBandit(dimension=2), {"horizon": 5}, "Gaussian, Bernoulli or Poisson"),
        (tg.Thompson(), None, {"horizon": 5}, "problem must be given: Thompson doesn't say"),
        (tg.Thompson(), tg.BernoulliBandit(arms=2), {}, "horizon must be given"),
    ],
)
def test_what_cannot_be_judged_is_refused(policy, problem, options, message):
    with pytest.raises(tg.BadInput, match=message):
        tg.robustness(policy, problem, episodes=256, **options)
