"""Policies that were trained under conditions, played user by user."""

import json

import numpy as np
import pytest

import tsgrad as tg
from false_alarms import z_bound
from tsgrad_runtime import Agent, BadInput
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.live_page import live_page

COINS = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "bernoulli", "alpha": [1.0, 1.0, 2.0], "beta": [1.0, 1.0, 2.0]},
    "arms": ["a", "b", "c"],
}


def agent(horizon, **conditions):
    return Agent(artefact_of({**COINS, "horizon": horizon, "conditions": conditions}, "test"), seed=3)


def test_beliefs_are_renewed_at_the_end_of_a_step_and_time_stands_still_within_it():
    one = agent(3, batch=[2, 3, 1])
    assert one.artefact.horizon == 6
    seen = []
    for _ in range(6):
        seen.append((one.scene().t, int(one.belief[0].sum())))
        decision = one.decide()
        one.reward(decision.id, 1.0)
    # The reward of a step's last user comes when its belief has been renewed: it counts at the end of the next.
    assert seen == [(1, 0), (1, 0), (3, 1), (3, 1), (3, 1), (6, 4)]


def test_a_floor_is_part_of_chances_and_choices():
    """20,000 decisions at a frozen belief: each share within z, a false alarm once in 1,000 seeds."""
    one = agent(1, batch=50_000, floor=0.2)
    one.belief[0][:] = [[200, 0, 0], [0, 200, 200]]  # successes, failures
    decisions = one.decide(users=20_000)
    shares = one.shares(one.scene())
    np.testing.assert_allclose(shares, [0.6, 0.2, 0.2], atol=1e-6)
    counts = np.array([sum(decision.arm == name for decision in decisions) for name in one.arms]) / 20_000
    assert np.max(np.abs(counts - shares) / np.sqrt(shares * (1 - shares) / 20_000)) < z_bound(3)


def test_no_arm_is_added_that_has_no_share_left():
    one = agent(10, floor=0.3)
    with pytest.raises(BadInput, match="4 arms with a share"):
        one.add_arm("d", alpha=1.0, beta=1.0)
    one.withdraw("a")
    one.add_arm("d", alpha=1.0, beta=1.0)
    assert np.sum(one.shares(one.scene())) == pytest.approx(1)


@pytest.mark.parametrize(
    "told",
    [
        {"arms": ["a\0", "b", "c"]},
        {"arms": ["\ud800", "b", "c"]},
        {"lineage": ["a policy"]},
        {"expected": {"regret": "small"}},
    ],
)
def test_what_could_not_be_read_again_is_not_written(told, tmp_path):
    problem = tg.BernoulliBandit(arms=3)
    with pytest.raises(BadInput, match=next(iter(told))):
        tg.write_policy(tmp_path / "policy.json", tg.Thompson(), problem=problem, horizon=3, **told)
    assert not (tmp_path / "policy.json").exists()


def test_a_run_that_can_only_be_simulated_is_not_saved_to_be_played_but_kept_to_be_compared(tmp_path):
    problem, conditions = tg.BernoulliBandit(arms=3), tg.Conditions(batch=20, allocation="proportional")
    short = {"horizon": 3, "episodes": 64, "iterations": 1, "validation_episodes": 64, "seed": 0}
    run = tg.train(problem, out=tmp_path / "run", conditions=conditions, **short)
    told = "allocation 'proportional' can't be played user by user: train with 'independent'"
    with pytest.raises(BadInput, match=told):
        run.save(tmp_path / "policy.json")
    with pytest.raises(BadInput, match=told):
        tg.write_policy(tmp_path / "policy.json", run.policy, problem=problem, horizon=3, conditions=conditions)
    assert not (tmp_path / "policy.json").exists()
    assert str(tg.load(tmp_path / "run" / "policy.json").policy) == str(run.policy)
    assert tg.resume(tmp_path / "run").gain == run.gain


@pytest.mark.parametrize("rival", [tg.ExploreThenCommit(), tg.BatchKnowledgeGradient(), tg.ResidualHorizon()])
def test_what_a_rival_plans_for_its_experiment_is_written_with_it(rival, tmp_path):
    """Its first batch, served, has the shares of the simulator's first step, for every one of its users."""
    problem = tg.BernoulliBandit(alpha=[1.0, 1.0, 2.0], beta=[1.0, 1.0, 2.0])
    users = {"batch": 10_000, "after": 100_000}
    tg.write_policy(tmp_path / "policy.json", rival, problem=problem, horizon=3, conditions=tg.Conditions(**users))
    served = Agent.load(tmp_path / "policy.json", seed=0)
    in_proportion = tg.Conditions(allocation="proportional", **users)
    simulated = tg.simulate(problem, rival, horizon=3, episodes=1, seed=0, conditions=in_proportion)
    shares = served.shares(served.scene())
    assert served.artefact.horizon == 30_000
    for decision in served.decide(users=40):
        assert decision.propensity == shares[served.roster.number(decision.arm)]
    assert np.max(np.abs(10_000 * shares - simulated.traffic[0])) < 1  # rounded to whole users there


def test_the_only_arm_of_a_step_to_come_is_not_withdrawn(tmp_path):
    """Nothing could be decided in that step, so that it would never end. Arms that were added are always there."""
    table = {**COINS, "horizon": 3, "conditions": {"available": [[1, 1], [2, 2], [3, 3]]}}
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    one = Experiment(artefact_of(table, "test"), ledger)
    with pytest.raises(BadInput, match="arm 'b' can't be withdrawn: it is the last at step 2"):
        one.agent.withdraw("b")
    assert one.append([Event("withdrawal", 0.0, arm="b")]) == ["impossible"]
    assert one.agent.decide().arm == "a"
    one.agent.withdraw("a")  # whose step has ended
    one.append([Event("arm", 0.0, arm="d", parameters={"alpha": 1.0, "beta": 1.0})])
    one.append([Event("withdrawal", 0.0, arm=name) for name in "bcd"])
    assert one.agent.roster.withdrawn == {"a", "b", "c"}
    assert one.agent.decide().arm == "d"
    assert "(withdrawn)" in live_page(one)
    ledger.close()


@pytest.mark.parametrize("together", [True, False])
def test_users_beyond_the_end_of_a_step_find_the_arms_of_the_next(together):
    one = agent(2, batch=2, available=[[1, 1], [2, 2], [2, 2]])
    one.withdraw("c")
    decisions = one.decide(users=4) if together else [one.decide() for _ in range(4)]
    assert [(decision.arm, decision.propensity) for decision in decisions] == [("a", 1.0)] * 2 + [("b", 1.0)] * 2


def test_a_floor_that_is_too_large_for_the_arms_there_are_is_an_equal_share_of_each():
    """Another version of the policy has added an arm."""
    one = agent(2, floor=1 / 3)
    one.apply(Event("arm", 0.0, arm="d", parameters={"alpha": 1.0, "beta": 1.0}))
    np.testing.assert_allclose(one.shares(one.scene()), np.full(4, 0.25))


def test_arms_come_and_go():
    one = agent(4, available=[[1, 2], [1, 4], [3, 4]])
    assert one.scene().arms_left.tolist() == [2, 4, 2]
    played = [one.decide().arm for _ in range(40)]
    assert set(played[:2]) <= {"a", "b"}
    assert set(played[2:]) == {"b", "c"}
    with pytest.raises(BadInput, match="available must name an arm that is there at step 4"):
        one.decide(available=["a"])
    one.add_arm("d", alpha=1.0, beta=1.0)  # with no plan: it stays
    assert one.scene().arms_left.tolist() == [1, 1, 1, 1]
    assert one.scene().available.tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"allocation": "proportional"}, "can't be played user by user: train with 'independent'"),
        ({"batch": [1, 2]}, "batch must be one number or 3, one per step, got 2"),
        ({"batch": 0}, "batch must be"),
        ({"floor": 0.5}, "floor must be from 0 to one over the number of arms, got 0.5"),
        ({"available": [[True, True]]}, "available must have an arm for each of 3 steps"),
    ],
)
def test_what_cannot_be_played_is_refused(conditions, message):
    with pytest.raises(BadInput, match=message):
        agent(3, **conditions)


@pytest.mark.long
@pytest.mark.formulas
def test_user_by_user_it_earns_what_simulation_says(tmp_path):
    """600 experiments of 3 steps of 20 users, rewards seen a step late: a false alarm once in 1,000 seeds."""
    problem = tg.BernoulliBandit(alpha=1.0, beta=1.0, arms=3)
    conditions = tg.Conditions(batch=20, delay=1, floor=0.05)
    run = tg.train(
        problem, horizon=3, episodes=256, iterations=3, validation_episodes=256, seed=0, conditions=conditions
    )
    run.save(tmp_path / "policy.json")
    assert json.loads((tmp_path / "policy.json").read_text())["conditions"]["batch"] == 20
    generator, earned = np.random.default_rng(5), []
    for seed in range(600):
        player = Agent.load(tmp_path / "policy.json", seed=seed)
        rates = generator.beta(1.0, 1.0, 3)
        late, total = [], 0.0
        for _ in range(3):
            decisions = [player.decide() for _ in range(19)]
            for decision in late:  # before the step ends: its last decision renews the belief
                player.reward(decision.id, float(generator.random() < rates[int(decision.arm)]))
            decisions.append(player.decide())
            total += sum(rates[int(decision.arm)] for decision in decisions)
            late = decisions
        earned.append(60 * rates.max() - total)
    expected = tg.simulate(problem, run.policy, horizon=3, episodes=8192, seed=1, conditions=conditions).regret
    error = np.hypot(np.std(earned) / np.sqrt(600), np.std(expected) / np.sqrt(8192))
    assert abs(np.mean(earned) - np.mean(expected)) < z_bound(1) * error
