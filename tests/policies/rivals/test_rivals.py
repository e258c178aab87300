"""Every rival: known regrets, what must not change its choices, and beliefs at the edge."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from conftest import z_bound
from tsgrad.policies import Clock
from tsgrad.policies.rivals.satisficing import FirstTries
from tsgrad.problems.bernoulli import BernoulliBelief
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.registry import from_data, to_data
from tsgrad.streams import Address, Purpose, Stream

SETTINGS = {
    "standard": (tg.GaussianBandit(arms=10), 500),
    "hetero": (tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0]), 50),
    "many": (tg.GaussianBandit(arms=20), 20),
}
GAUSSIAN = {
    "greedy": tg.Greedy(),
    "uniform": tg.Uniform(),
    "Bayes-UCB": tg.BayesUCB(),
    "Bayes-UCB at 0.9": tg.BayesUCB(0.9),
    "OGI": tg.OptimisticGittins(),
    "OGI-T": tg.OptimisticGittins("left"),
    "Gittins": tg.FiniteHorizonGittins(),
    "knowledge gradient": tg.KnowledgeGradient(),
    "V-IDS": tg.InformationDirected(),
    "IDS": tg.InformationDirected("mutual"),
    "IRS.FH": tg.RelaxationSampling(),
    "IRS.V-Zero": tg.RelaxationSampling("V-Zero"),
    "IRS.INDEX": tg.RelaxationSampling("INDEX"),
    "scaled": tg.ScaledThompson(0.7),
    "satisficing": tg.SatisficingThompson(0.3),
    "top-two": tg.TopTwoThompson(0.5),
}
DETERMINISTIC = ("greedy", "Bayes-UCB", "Bayes-UCB at 0.9", "OGI", "OGI-T", "Gittins", "knowledge gradient")
BERNOULLI = {
    name: rival
    for name, rival in GAUSSIAN.items()
    if name not in ("knowledge gradient", "scaled") and not name.startswith("IRS")
}

# (regret, standard error): of the paper's tables, and of independent programs
KNOWN = {
    ("standard", "Bayes-UCB"): [(52.038, 0.186), (51.9, 0.3)],
    ("standard", "OGI"): [(50.381, 0.348), (49.3, 0.6)],
    ("standard", "V-IDS"): [(47.135, 0.335)],
    ("standard", "IRS.FH"): [(56.5, 0.3)],
    ("standard", "knowledge gradient"): [(44.5, 0.6)],
    ("standard", "OGI-T"): [(38.3, 0.4)],
    ("standard", "Gittins"): [(38.0, 0.4)],
    ("standard", "scaled"): [(48.2, 0.5)],
    ("hetero", "Bayes-UCB"): [(31.677, 0.254), (32.1, 0.2)],
    ("hetero", "OGI"): [(23.614, 0.224), (23.9, 0.2)],
    ("hetero", "V-IDS"): [(20.249, 0.202)],
    ("hetero", "IRS.FH"): [(20.0, 0.1)],
    ("hetero", "IRS.V-Zero"): [(18.4, 0.4)],
    ("hetero", "IRS.INDEX"): [(16.3, 0.5)],
    ("hetero", "knowledge gradient"): [(15.1, 0.1)],
    ("hetero", "OGI-T"): [(21.8, 0.2)],
    ("hetero", "Gittins"): [(14.8, 0.1)],
    ("many", "Bayes-UCB"): [(21.537, 0.124), (21.5, 0.1)],
    ("many", "OGI"): [(20.604, 0.126), (20.8, 0.1)],
    ("many", "V-IDS"): [(21.799, 0.118)],
    ("many", "IRS.FH"): [(27.4, 0.07)],
    ("many", "IRS.V-Zero"): [(24.6, 0.2)],
    ("many", "IRS.INDEX"): [(20.0, 0.3)],
    ("many", "knowledge gradient"): [(20.1, 0.06)],
    ("many", "OGI-T"): [(20.1, 0.1)],
    ("many", "Gittins"): [(19.9, 0.06)],
}
# Those that run on JAX play fewer episodes here; benchmarks/rivals.py plays all of them.
FEWER = {
    "knowledge gradient": {"standard": 1024, "hetero": 5000, "many": 5000},
    "V-IDS": {"standard": 256, "hetero": 1500, "many": 256},
    "IRS.V-Zero": {"hetero": 1500, "many": 1500},
    "IRS.INDEX": {"hetero": 256, "many": 256},
}


@pytest.mark.parametrize(("setting", "name"), KNOWN, ids=" ".join)
def test_known_regrets(setting, name):
    """Within 3 combined standard errors. With fresh seeds one of the 32 would exceed that every 12 runs."""
    problem, horizon = SETTINGS[setting]
    episodes = FEWER.get(name, {}).get(setting, 20_000 if setting == "standard" else 10_000)
    regret = tg.simulate(problem, GAUSSIAN[name], horizon=horizon, episodes=episodes, seed=1).regret
    error = np.std(regret) / np.sqrt(episodes)
    for known, known_error in KNOWN[setting, name]:
        assert abs(regret.mean() - known) < 3 * np.hypot(error, known_error)


def noise_of(episode):
    return Address.of(seed=5, purpose=Purpose.EVALUATION, episode=episode).noise(Stream.POLICY).step(3)


def frequencies(problem, policy, belief, clock, draws=512, order=(0, 1, 2)):
    """How often each arm is chosen from one belief, [K]."""
    ready = policy.prepare(problem, clock.horizon)
    memory = ready.init(problem)
    if isinstance(memory, FirstTries):
        memory = FirstTries(jnp.int32(clock.t - 1), jnp.array([4, 0, 2], jnp.int32)[jnp.array(order)])

    @jax.jit
    @jax.vmap
    def choose(episode):
        noise = Address.of(seed=6, purpose=Purpose.EVALUATION).with_episode(episode).noise(Stream.POLICY)
        return ready.act(problem, belief, memory, None, clock, noise.step(clock.t))

    return np.bincount(choose(jnp.arange(draws, dtype=jnp.uint32)), minlength=problem.arms) / draws


def moved_problem(by, order=(0, 1, 2)):
    mean, std, noise = np.array([0.3, 0.0, -0.2]), np.array([1.0, 0.5, 2.0]), np.array([0.5, 1.0, 3.0])
    order = list(order)
    return tg.GaussianBandit(prior_mean=mean[order] + by, prior_std=std[order], noise_std=noise[order])


def belief_of(by, order=(0, 1, 2)):
    pulls, total = np.array([2.0, 1.0, 3.0]), np.array([0.3, 0.4, -1.0])
    order = list(order)
    return GaussianBelief(jnp.array(pulls[order]), jnp.array((total + by * pulls)[order]))


@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_constant_added_to_all_means_changes_nothing(name):
    """Same noise, same choices: 512 of them from one belief, in float64."""
    with jax.enable_x64(True):
        first, second = (
            frequencies(moved_problem(by), GAUSSIAN[name], belief_of(by), Clock(7, 12)) for by in (0.0, 4.0)
        )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_arms_permuted_with_their_noise_change_labels_only(name):
    """Choices if deterministic, else how often each arm is chosen: 48 comparisons of two times 512 choices."""
    order = (2, 0, 1)
    plain = frequencies(moved_problem(0.0), GAUSSIAN[name], belief_of(0.0), Clock(7, 12))[list(order)]
    permuted = frequencies(moved_problem(0.0, order), GAUSSIAN[name], belief_of(0.0, order), Clock(7, 12), order=order)
    if name in DETERMINISTIC:
        np.testing.assert_array_equal(permuted, plain)
        return
    average = (plain + permuted) / 2
    error = np.sqrt(2 * average * (1 - average) / 512)
    assert np.all(np.abs(permuted - plain) <= z_bound(48) * error)


EDGES = {  # means and pulls of the arms, given unit priors and noise
    "never best": ([0.0, 60.0], [5.0, 5.0]),
    "equal means": ([0.5, 0.5], [4.0, 4.0]),
    "one arm": ([0.0], [3.0]),
    "one never tried": ([-8.0, 0.0], [9.0, 0.0]),
}


@pytest.mark.parametrize("name", GAUSSIAN)
@pytest.mark.parametrize(("mean", "pulls"), EDGES.values(), ids=EDGES)
def test_gaussian_beliefs_at_the_edge(name, mean, pulls):
    problem = tg.GaussianBandit(arms=len(mean))
    mean, pulls = np.array(mean), np.array(pulls)
    belief = GaussianBelief(jnp.array(pulls), jnp.array(mean * (1 + pulls)))
    for t in (11, 20):
        policy = GAUSSIAN[name].prepare(problem, 20)
        arm = int(policy.act(problem, belief, policy.init(problem), None, Clock(t, 20), noise_of(0)))
        assert 0 <= arm < len(mean)
        if mean.max() > 50 and name not in ("uniform", "top-two"):
            assert arm == 1


@pytest.mark.parametrize("name", BERNOULLI)
@pytest.mark.parametrize(
    ("successes", "failures"), [([0.0, 15.0], [15.0, 0.0]), ([5.0, 5.0], [5.0, 5.0]), ([3.0], [2.0])]
)
def test_bernoulli_beliefs_at_the_edge(name, successes, failures):
    """Priors of a hundredth of a count put a distribution at 0 and 1."""
    problem = tg.BernoulliBandit(arms=len(successes), alpha=0.01, beta=0.01)
    belief = BernoulliBelief(jnp.array(successes), jnp.array(failures))
    policy = BERNOULLI[name].prepare(problem, 32)
    for t in (31, 32):
        arm = int(policy.act(problem, belief, policy.init(problem), None, Clock(t, 32), noise_of(1)))
        assert 0 <= arm < len(successes)
        if successes[0] == 0 and name not in ("uniform", "top-two"):
            assert arm == 1


@pytest.mark.parametrize(
    ("problem", "rivals"), [(tg.GaussianBandit(arms=2), GAUSSIAN), (tg.BernoulliBandit(arms=2), BERNOULLI)]
)
def test_one_step(problem, rivals):
    """With one decision and equal arms the first is played, unless by chance; all of them play something."""
    for name, rival in rivals.items():
        policy = rival.prepare(problem, 1)
        arm = int(policy.act(problem, problem.prior(1), policy.init(problem), None, Clock(1, 1), noise_of(2)))
        assert arm == 0 if name in DETERMINISTIC or name.startswith("IRS") else arm in (0, 1)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_round_trip(name):
    rival = GAUSSIAN[name]
    again = from_data(to_data(rival), what="policy", base=tg.Policy)
    assert type(again) is type(rival)
    assert to_data(again) == to_data(rival)


def test_satisficing_plays_what_was_tried_first():
    """With a tolerance beyond all differences, the first arm that was ever played is played for ever."""
    problem = tg.GaussianBandit(arms=4)
    arms = tg.simulate(
        problem, tg.SatisficingThompson(100.0), horizon=6, episodes=64, seed=0, trajectories=True
    ).trajectories.arm
    np.testing.assert_array_equal(arms, 0)
    options = {"horizon": 6, "episodes": 256, "seed": 0, "precision": "float64", "engine": "jax"}
    plain, none = (tg.simulate(problem, one, **options) for one in (tg.Thompson(), tg.SatisficingThompson(0.0)))
    np.testing.assert_array_equal(plain.regret, none.regret)


def test_top_two_plays_another_arm_as_often_as_it_says():
    """Where one arm is surely best, it is played with probability beta: 2,048 choices, one comparison."""
    problem = tg.GaussianBandit(arms=3)
    belief = GaussianBelief(jnp.full(3, 20.0), 21 * jnp.array([0.0, 50.0, 10.0]))
    found = frequencies(problem, tg.TopTwoThompson(0.3), belief, Clock(61, 64), draws=2048)
    assert abs(found[1] - 0.3) < z_bound(1) * np.sqrt(0.3 * 0.7 / 2048)
    assert found[0] == 0  # the runner-up of the draw is the third arm


def test_bernoulli_rivals_beat_thompson_sampling():
    """The five that know how to value an arm, on 4,000 common episodes, each by at least 5 standard errors."""
    options = {"horizon": 40, "episodes": 4000, "seed": 2}
    problem = tg.BernoulliBandit(arms=3)
    plain = tg.simulate(problem, tg.Thompson(), **options).regret
    for name in ("Bayes-UCB", "OGI", "OGI-T", "Gittins", "V-IDS"):
        gain = plain - tg.simulate(problem, BERNOULLI[name], **options).regret
        assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


def test_every_rival_was_listed():
    from tsgrad.policies.rivals import __all__ as offered

    listed = {type(rival).__name__ for rival in itertools.chain(GAUSSIAN.values(), BERNOULLI.values())}
    assert listed == set(offered) - {"Rival"}
