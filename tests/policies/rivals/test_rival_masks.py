"""Arms that are not available: no rival plays them, the others are chosen as if they were alone, and all are none."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.policies import Clock
from tsgrad.policies.rivals.best_arm import sampled_best_arm
from tsgrad.policies.rivals.best_arm_gaussian import far_below, gaussian_best_arm, gaussian_information
from tsgrad.policies.rivals.information_directed import best_mixture
from tsgrad.policies.rivals.relaxation_sampling import best_counts
from tsgrad.problems import Context
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.streams import Address, Purpose, Stream

pytestmark = pytest.mark.formulas

HORIZON, STEP, EPISODES = 9, 6, 128
GAUSSIAN = {"prior_mean": [0.3, 0.0, -0.2, 0.1], "prior_std": [1.0, 0.5, 2.0, 1.0], "noise_std": [0.5, 1.0, 3.0, 1.0]}
BERNOULLI = {"alpha": [1.0, 0.4, 3.0, 1.0], "beta": [1.0, 2.5, 2.0, 0.7]}
PROBLEMS = {
    "gaussian": tg.GaussianBandit(**GAUSSIAN),
    "bernoulli": tg.BernoulliBandit(**BERNOULLI),
    "contexts": tg.LinearBandit(features=tg.GaussianContexts(arms=4, dimension=3)),
}
ANYWHERE = {
    "greedy": tg.Greedy(),
    "uniform": tg.Uniform(),
    "Bayes-UCB": tg.BayesUCB(),
    "V-IDS": tg.InformationDirected(),
    "scaled": tg.ScaledThompson(0.7),
    "satisficing": tg.SatisficingThompson(0.3),
    "top-two": tg.TopTwoThompson(0.3),
}
TABLED = {
    "OGI": tg.OptimisticGittins("left"),
    "Gittins": tg.FiniteHorizonGittins(),
    "IDS": tg.InformationDirected("mutual"),
}
NORMAL = {
    "knowledge gradient": tg.KnowledgeGradient(),
    **{f"IRS.{penalty}": tg.RelaxationSampling(penalty) for penalty in ("FH", "V-Zero", "INDEX")},
}
RIVALS = {
    "gaussian": ANYWHERE | TABLED | NORMAL,
    "bernoulli": ANYWHERE | TABLED,
    "contexts": ANYWHERE,
}
CASES = [(problem, name) for problem, rivals in RIVALS.items() for name in rivals]
DETERMINISTIC = ("greedy", "Bayes-UCB", "OGI", "Gittins")


def masks():
    """[episode, K]: every set of available arms, each as often as the others."""
    sets = 1 + np.arange(EPISODES) % 15
    return jnp.array((sets[:, None] >> np.arange(4)) & 1, bool)


@pytest.fixture(scope="module")
def seen(request):
    """A problem, and what was seen of it before step 6 of many episodes, whatever was played."""
    problem = PROBLEMS[request.param]
    runs = tg.simulate(problem, tg.Uniform(), horizon=HORIZON, episodes=EPISODES, seed=3, trajectories=True)
    return request.param, problem, jax.tree.map(jnp.asarray, runs.trajectories)


@eqx.filter_jit
def choices(problem, policy, runs, available):
    """The arm chosen in each episode; `available` is [episode, K], or None."""
    address = Address.of(seed=6, purpose=Purpose.EVALUATION)

    def choose(episode, run, now):
        memory = policy.init(problem)
        for t in range(STEP - 1):
            memory = policy.remember(memory, Context(), run.arm[t], run.reward[t])
        belief, context = jax.tree.map(lambda leaf: leaf[STEP - 1], (run.belief, run.context))
        noise = address.with_episode(episode).noise(Stream.POLICY).step(STEP)
        clock = Clock(jnp.int32(STEP), HORIZON)
        return policy.act(problem, belief, memory, context._replace(available=now), clock, noise)

    runs = runs._replace(final_belief=None, rollout=None)
    return jax.vmap(choose)(jnp.arange(EPISODES, dtype=jnp.uint32), runs, available)


@pytest.mark.quick("contexts-greedy", *(f"{problem}-{name}" for problem, name in CASES if problem == "gaussian"))
@pytest.mark.parametrize(("seen", "name"), CASES, indirect=["seen"])
def test_only_available_arms_are_played_and_all_are_none(seen, name):
    """Every set of available arms, many beliefs; what is played is not the arm that would be played anyway."""
    kind, problem, runs = seen
    policy = RIVALS[kind][name].prepare(problem, HORIZON)
    available = masks()
    played = choices(problem, policy, runs, available)
    assert np.all(np.asarray(available)[np.arange(EPISODES), played])
    free = choices(problem, policy, runs, None)
    assert not np.array_equal(free, played)
    np.testing.assert_array_equal(choices(problem, policy, runs, jnp.ones_like(available)), free)


@pytest.mark.parametrize(
    ("of", "numbers", "name"),
    [
        *((tg.GaussianBandit, GAUSSIAN, name) for name in (*DETERMINISTIC, "knowledge gradient")),
        *((tg.BernoulliBandit, BERNOULLI, name) for name in DETERMINISTIC),
    ],
)
def test_the_others_are_chosen_as_if_they_were_alone(of, numbers, name):
    """Against the problem that has the available arms only."""
    rival, problem = RIVALS["gaussian"][name], of(**numbers)
    runs = tg.simulate(
        problem, tg.Uniform(), horizon=HORIZON, episodes=EPISODES, seed=4, trajectories=True
    ).trajectories
    runs = jax.tree.map(jnp.asarray, runs)
    policy = rival.prepare(problem, HORIZON)
    for kept in ([0, 2], [1, 2, 3], [3]):
        available = jnp.zeros((EPISODES, 4), bool).at[:, jnp.array(kept)].set(True)
        masked = choices(problem, policy, runs, available)
        fewer = of(**{field: np.array(values)[kept] for field, values in numbers.items()})
        part = runs._replace(belief=jax.tree.map(lambda leaf, kept=kept: leaf[..., jnp.array(kept)], runs.belief))
        alone = choices(fewer, rival.prepare(fewer, HORIZON), part, None)
        np.testing.assert_array_equal(masked, np.array(kept)[alone])


def test_what_information_directed_sampling_is_made_of():
    """Quantities of the available arms are those of the arms alone; by draws, those of the same draws."""
    problem, kept = tg.GaussianBandit(**GAUSSIAN), np.array([0, 3])
    context = Context(available=jnp.array([True, False, False, True]))
    belief = GaussianBelief(jnp.array([2.0, 1.0, 0.0, 1.0]), jnp.array([0.3, 9.0, 0.0, 1.0]))
    whole = problem.arm_moments(belief, context)
    masked, alone = far_below(whole, context), jax.tree.map(lambda leaf: leaf[kept], whole)
    found, expected = (jax.jit(gaussian_best_arm)(believed) for believed in (masked, alone))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours[kept], theirs, rtol=1e-5)
    assert np.all(found.probability[1:3] == 0)
    noise_std, informations = jnp.array(GAUSSIAN["noise_std"]), jax.jit(gaussian_information)
    ours, theirs = informations(masked, noise_std), informations(alone, noise_std[kept])
    np.testing.assert_allclose(ours[kept], theirs, rtol=1e-4)
    noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POLICY)
    sampled = jax.jit(lambda: sampled_best_arm(problem, belief, context, noise))()
    assert np.all(sampled.probability[1:3] == 0)
    shares = np.asarray(expected.probability)
    assert np.all(np.abs(sampled.probability[kept] - shares) < z_bound(2) * np.sqrt(shares * (1 - shares) / 512))
    np.testing.assert_allclose(sampled.shortfall[kept], expected.shortfall, atol=z_bound(2) / np.sqrt(512))


def test_mixtures_are_of_available_arms():
    """Where an arm that is not available would lose nothing, or has all there is to gain; and where nothing can be."""
    context = Context(available=jnp.array([False, True, True]))
    for shortfall, gain, played in [
        ([0.0, 2.0, 1.0], [1.0, 0.0, 0.0], {2}),
        ([0.0, 1.0, 2.0], [9.0, 0.1, 1.0], {1, 2}),
    ]:
        mixture = best_mixture(jnp.array(shortfall), jnp.array(gain), context)
        assert {int(mixture.first), int(mixture.second)} == played
    alone = best_mixture(jnp.array([1.0, 2.0]), jnp.array([0.1, 1.0]), Context())
    np.testing.assert_allclose(mixture.probability, alone.probability, rtol=1e-6)


def test_plans_are_of_available_arms():
    rng, find = np.random.default_rng(0), jax.jit(best_counts)
    for _ in range(20):
        means = rng.standard_normal((4, 6)).astype(np.float32)
        masked = jnp.array(np.where([[True], [False], [True], [True]], means, -np.inf))
        counts, alone = find(masked, Clock(2, 6)), find(jnp.array(means[[0, 2, 3]]), Clock(2, 6))
        np.testing.assert_array_equal(counts, np.insert(alone, 1, 0))


def test_uniform_is_uniform_over_the_available():
    """6,000 choices among two of four arms."""
    problem = PROBLEMS["gaussian"]
    context = Context(available=jnp.array([False, True, False, True]))
    address = Address.of(seed=1, purpose=Purpose.EVALUATION)

    def choose(episode):
        noise = address.with_episode(episode).noise(Stream.POLICY)
        return tg.Uniform().act(problem, None, None, context, Clock(1, 2), noise)

    arms = np.asarray(jax.jit(jax.vmap(choose))(jnp.arange(6000, dtype=jnp.uint32)))
    assert set(arms) == {1, 3}
    assert abs(np.mean(arms == 1) - 0.5) < z_bound(1) * 0.5 / np.sqrt(6000)


class Changing(tg.GaussianBandit):
    """A bandit of which one arm can be played at every third step, and all but one at others."""

    def draw_context(self, previous, noise, t):
        arms = jnp.arange(self.arms)
        return Context(available=jnp.where(t % 3 == 0, arms == t % self.arms, arms != t % self.arms))


@pytest.mark.parametrize("name", ["Gittins", "satisficing", "top-two", "V-IDS", "IRS.V-Zero"])
def test_whole_episodes(name):
    rival = RIVALS["gaussian"][name]
    runs = tg.simulate(
        Changing(**GAUSSIAN), rival, horizon=12, episodes=256, seed=0, trajectories=True, engine="jax"
    ).trajectories
    assert np.all(np.take_along_axis(runs.context.available, runs.arm[..., None], axis=-1))
    assert all(len(np.unique(arms)) > 1 for arms in runs.arm[:, [3, 4, 6]].T)
