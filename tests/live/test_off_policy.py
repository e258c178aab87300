"""What a policy would have earned: against the definitions, against the truth, and replay against the simulator."""

import numpy as np
import pytest

import tsgrad as tg


@pytest.fixture(scope="module")
def log():
    generator = np.random.default_rng(0)
    shares = generator.dirichlet([2.0, 2.0, 2.0], 5000)
    arms = np.array([generator.choice(3, p=row) for row in shares])
    rewards = (generator.random(5000) < np.array([0.2, 0.5, 0.7])[arms]).astype(float)
    return {"arm": arms, "reward": rewards, "propensity": shares[np.arange(5000), arms]}


TARGET = {"0": 0.1, "1": 0.3, "2": 0.6}
VALUE = 0.1 * 0.2 + 0.3 * 0.5 + 0.6 * 0.7


def test_estimates_are_their_definitions(log):
    found = tg.evaluate_log(log, target=TARGET).estimates
    shares = np.array([0.1, 0.3, 0.6])
    weights = shares[log["arm"]] / log["propensity"]
    means = np.array([log["reward"][log["arm"] == k].mean() for k in range(3)])
    robust = shares @ means + weights * (log["reward"] - means[log["arm"]])
    np.testing.assert_allclose(found["inverse propensity"].value, np.mean(weights * log["reward"]), rtol=1e-12)
    np.testing.assert_allclose(
        found["self-normalised"].value, np.sum(weights * log["reward"]) / np.sum(weights), rtol=1e-12
    )
    np.testing.assert_allclose(found["doubly robust"].value, robust.mean(), rtol=1e-12)


def test_estimates_are_near_the_truth(log):
    for estimate in tg.evaluate_log(log, target=TARGET).estimates.values():
        assert abs(estimate.value - VALUE) < 4.1 * estimate.standard_error  # three beyond: once in 8,000 such tests


def test_replay_is_what_the_policy_earns(tmp_path):
    """On a log of uniform choices, against the simulator in the same world: z below 4, once in 15,000 such tests."""
    problem = tg.BernoulliBandit(alpha=1.0, beta=1.0, arms=3)
    rates, horizon = np.array([0.2, 0.5, 0.8]), 60
    path = tmp_path / "policy.json"
    tg.write_policy(path, tg.Thompson(), problem=problem, horizon=horizon)
    generator = np.random.default_rng(1)
    arms = generator.integers(3, size=2000)
    rewards = (generator.random(2000) < rates[arms]).astype(float)
    replayed = tg.evaluate_log({"arm": arms, "reward": rewards}, policy=path, replays=8).estimates["replay"]
    successes, failures, earned = np.zeros((400, 3)), np.zeros((400, 3)), np.zeros(400)
    for _ in range(horizon):
        arm = np.argmax(generator.beta(1 + successes, 1 + failures), axis=1)
        paid = generator.random(400) < rates[arm]
        successes[np.arange(400), arm] += paid
        failures[np.arange(400), arm] += ~paid
        earned += paid / horizon
    error = np.hypot(replayed.standard_error, np.sqrt(earned.var() / 400))
    assert abs(replayed.value - earned.mean()) < 4 * error


def test_a_replay_uses_every_row_once(tmp_path):
    """Of a single arm it is the mean of the log, whatever the order, with the error of a mean."""
    path = tmp_path / "policy.json"
    tg.write_policy(path, tg.Thompson(), problem=tg.GaussianBandit(arms=1), horizon=50)
    rewards = np.random.default_rng(0).normal(size=50)
    found = tg.evaluate_log({"arm": np.zeros(50, int), "reward": rewards}, policy=path, replays=3).estimates["replay"]
    assert found.value == pytest.approx(rewards.mean(), rel=1e-12)
    assert found.standard_error == pytest.approx(rewards.std() / np.sqrt(50), rel=1e-12)


@pytest.mark.parametrize("delay", [0, 4, [0.5, 0.0, 0.0, 0.2]])
def test_replayed_rewards_are_as_late_as_planned(tmp_path, delay):
    """Against the simulator in the same world: 12 steps of 10 users. z below 4, three times: once in 5,000 tests."""
    problem, rates = tg.BernoulliBandit(alpha=1.0, beta=1.0, arms=3), np.array([0.1, 0.3, 0.8])
    path, conditions = tmp_path / "policy.json", tg.Conditions(batch=10, delay=delay)
    tg.write_policy(path, tg.Thompson(), problem=problem, horizon=12, conditions=conditions)
    generator = np.random.default_rng(2)
    arms = generator.integers(3, size=4000)
    log = {"arm": arms, "reward": generator.random(4000) < rates[arms]}
    replayed = tg.evaluate_log(log, policy=path, replays=10).estimates["replay"]
    world = tg.Misspecified(truth=tg.BernoulliBandit(alpha=1e6 * rates, beta=1e6 * (1 - rates)), model=problem)
    played = tg.simulate(world, tg.Thompson(), horizon=12, episodes=1000, seed=0, conditions=conditions).reward / 120
    error = np.hypot(replayed.standard_error, played.std() / np.sqrt(1000))
    assert abs(replayed.value - played.mean()) < 4 * error
    assert 4 * error < 0.08  # seen at once, rewards make 0.1 more of a delay of 4


@pytest.mark.long
def test_replay_is_unbiased_and_its_intervals_hold(tmp_path):
    """Five arms that all pay a half, so that every policy earns that: 300 logs that one replay uses up.

    The mean within 4 standard errors (about 0.004 each; rows drawn with replacement are 0.02 too high); intervals
    hold in 95% of logs, give or take 4 standard errors of 1.3 points, but need not be that narrow.
    """
    path, generator = tmp_path / "policy.json", np.random.default_rng(5)
    tg.write_policy(path, tg.Thompson(), problem=tg.BernoulliBandit(alpha=1.0, beta=1.0, arms=5), horizon=12)
    found = []
    for number in range(300):
        log = {"arm": generator.integers(5, size=60), "reward": generator.random(60) < 0.5}
        found.append(tg.evaluate_log(log, policy=path, replays=10, seed=number).estimates["replay"])
    values = np.array([one.value for one in found])
    assert abs(values.mean() - 0.5) < 4 * values.std() / np.sqrt(300)
    held = np.mean([one.interval[0] <= 0.5 <= one.interval[1] for one in found])
    assert 0.9 < held < 0.995


def test_warnings_and_refusals(log, tmp_path):
    rare = {**log, "propensity": np.where(np.arange(5000) == 7, 1e-5, log["propensity"])}
    assert any("propensity" in said for said in tg.evaluate_log(rare, target=TARGET).warnings)
    without = {name: log[name] for name in ("arm", "reward")}
    for given, word in (
        ({"log": without, "target": TARGET}, "propensity"),
        ({"log": log, "target": {"0": 0.5}}, "add up"),
        ({"log": log, "target": {"9": 1.0}}, "arms of the log"),
        ({"log": log}, "target or policy"),
        ({"log": {**log, "propensity": log["propensity"] * 0}, "target": TARGET}, "above 0"),
        ({"log": {"arm": ["0"], "reward": [1.0], "propensity": [0.5]}, "target": {"0": 1.0}}, "at least two decisions"),
        ({"log": log, "policy": "nowhere.json", "seed": -1}, "seed must be"),
    ):
        with pytest.raises(tg.BadInput, match=word):
            tg.evaluate_log(**given)
    path = tmp_path / "policy.json"
    tg.write_policy(path, tg.Thompson(), problem=tg.BernoulliBandit(arms=3), horizon=20)
    skewed = {"arm": np.repeat([0, 1, 2], [400, 50, 50]), "reward": np.tile([0, 1], 250)}
    assert any("uniformly" in said for said in tg.evaluate_log(skewed, policy=path, replays=2).warnings)


def test_wrong_propensities_are_told(log, tmp_path):
    """Weights of right ones are 1 on average. The chi-square test finds 7% more of one arm of five, of 20,000 rows;
    equal counts of a log that says it was not uniform are none the less.
    """
    assert not tg.evaluate_log(log, target=TARGET).warnings
    swapped = {**log, "propensity": np.full(5000, 0.5)}
    assert any("on average in place of 1" in said for said in tg.evaluate_log(swapped, target=TARGET).warnings)
    path = tmp_path / "policy.json"
    tg.write_policy(path, tg.Thompson(), problem=tg.BernoulliBandit(arms=5), horizon=5)
    rows = {"arm": np.repeat(np.arange(5), [4280, 3930, 3930, 3930, 3930]), "reward": np.tile([0, 1], 10_000)}
    fair = {"arm": np.tile(np.arange(5), 40), "reward": np.tile([0, 1], 100)}
    for given, told in (
        (rows, True),
        (fair, False),
        ({**fair, "propensity": np.tile([0.6, 0.1, 0.1, 0.1, 0.1], 40)}, True),
        ({**fair, "propensity": np.full(200, 0.2)}, False),
    ):
        warnings = tg.evaluate_log(given, policy=path, replays=2).warnings
        assert any("not drawn uniformly" in said for said in warnings) == told


def test_logs_of_policies_that_learn_are_told(log, tmp_path):
    """Thompson sampling's own, with its own propensities; not those whose propensities depend on the user alone."""
    from tsgrad_runtime import Agent

    path = tmp_path / "policy.json"
    tg.write_policy(path, tg.Thompson(), problem=tg.BernoulliBandit(arms=3), horizon=300)
    for seed in range(3):
        agent, generator = Agent.load(path, seed=seed), np.random.default_rng(seed)
        rows = []
        for _ in range(300):
            decision = agent.decide()
            rows.append((decision.arm, int(generator.random() < 0.3), decision.propensity))
            agent.reward(decision.id, rows[-1][1])
        columns = dict(zip(("arm", "reward", "propensity"), zip(*rows, strict=True), strict=True))
        warnings = tg.evaluate_log(columns, target=dict.fromkeys("012", 1 / 3)).warnings
        assert any("change along the log" in said for said in warnings)
    order = np.random.default_rng(1).permutation(300)
    shuffled = {name: np.array(values)[order] for name, values in columns.items()}
    warnings = tg.evaluate_log(shuffled, target=dict.fromkeys("012", 1 / 3)).warnings
    assert not any("change along the log" in said for said in warnings)


@pytest.mark.parametrize(
    "problem",
    [tg.BallBandit(dimension=2), tg.LinearBandit(features=tg.GaussianContexts(arms=2, dimension=2))],
)
def test_policies_that_such_a_log_can_not_replay_are_refused(problem, tmp_path):
    path = tmp_path / "policy.json"
    tg.write_policy(path, tg.Thompson(), problem=problem, horizon=20)
    with pytest.raises(tg.BadInput, match="must choose among named arms that bring no features"):
        tg.evaluate_log({"arm": ["0", "1"] * 9, "reward": [0, 1, 1] * 6}, policy=path)


def test_decisions_that_wait_for_their_reward_are_left_out():
    columns = {"arm": ["a", "b", "a", "b", "a"], "reward": [1.0, 0.0, None, 1.0, None], "propensity": [0.5] * 5}
    kept = {name: [values[row] for row in (0, 1, 3)] for name, values in columns.items()}
    found, alone = (tg.evaluate_log(log, target={"a": 0.5, "b": 0.5}) for log in (columns, kept))
    assert found.estimates == alone.estimates
    assert found.warnings == ("2 of 5 rows have no reward yet, and are left out.", *alone.warnings)
    with pytest.raises(tg.BadInput, match="must hold rewards, got none"):
        tg.evaluate_log({**columns, "reward": [None] * 5}, target={"a": 1.0})


def test_intervals_hold_where_rewards_are_rare():
    """Twenty arms, one click in a hundred, 250 rows of the arm asked for: 400 logs, 95% give or take 4 standard errors
    of 1.1 points. Wald's intervals held in 79% of them, and had no width where nobody had clicked.
    """
    generator, held, none = np.random.default_rng(1), [], 0
    for _ in range(400):
        arms = generator.integers(20, size=5000)
        log = {"arm": arms, "reward": generator.random(5000) < 0.01, "propensity": np.full(5000, 0.05)}
        found = tg.evaluate_log(log, target={"7": 1.0})
        held.append([low <= 0.01 <= high for low, high in (one.interval for one in found.estimates.values())])
        none += not found.estimates["self-normalised"].value
        assert any("differ from 0" in said for said in found.warnings) == (np.sum(log["reward"][arms == 7]) < 10)
    assert none  # some of them have no click at all
    assert np.all(np.abs(np.mean(held, axis=0) - 0.95) < 0.044)
