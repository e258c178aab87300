"""Features that a problem gives for each user: a decision is made, and its reward learned, with its user's own."""

import numpy as np
import pytest
from starlette.testclient import TestClient

import tsgrad as tg
from tsgrad_runtime import Agent
from tsgrad_runtime.admission import Tokens
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment, rebuilt
from tsgrad_runtime.files import write_json
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.service import application
from tsgrad_runtime.watch import Watch

FEATURES = np.random.default_rng(0).normal(size=(6, 3, 2))
CONTENT = {
    "policy": {"kind": "thompson"},
    "problem": {
        "kind": "linear",
        "features": {"kind": "given-contexts", "features": FEATURES.tolist()},
        "prior_mean": [0.0, 0.0],
        "prior_covariance": [[1.0, 0.0], [0.0, 1.0]],
        "noise_std": [1.0] * 3,
    },
    "horizon": 6,
}


@pytest.mark.parametrize("together", [True, False])
def test_users_of_a_batch_have_features_of_their_own(together, tmp_path):
    """User u's best arm is u mod 3, by far: the simulator has no regret."""
    features = np.stack([np.eye(3)[[user % 3]].T for user in range(6)])
    problem = tg.LinearBandit(
        features=tg.GivenContexts(features=features),
        prior_mean=np.array([5.0]),
        prior_covariance=np.eye(1) * 1e-6,
        noise_std=1.0,
    )
    conditions = tg.Conditions(batch=3)
    simulated = tg.simulate(problem, tg.Thompson(), horizon=2, episodes=2, seed=0, conditions=conditions)
    assert np.all(simulated.regret == 0)
    tg.write_policy(tmp_path / "policy.json", tg.Thompson(), problem=problem, horizon=2, conditions=conditions)
    agent = Agent.load(tmp_path / "policy.json", seed=0)
    decisions = agent.decide(users=3) + agent.decide(users=3) if together else [agent.decide() for _ in range(6)]
    assert [decision.arm for decision in decisions] == ["0", "1", "2"] * 2


def test_features_that_no_belief_could_learn_from_are_refused(tmp_path):
    """One reward under them had ended the experiment: the next state could not be computed, and the ledger had it."""
    plane = {"prior_mean": [0.0, 0.0], "prior_covariance": [[1.0, 0.0], [0.0, 1.0]]}
    problem = {"kind": "logistic", "features": {"kind": "gaussian-contexts", "arms": 2, "dimension": 2}, **plane}
    content = {"policy": {"kind": "thompson"}, "problem": problem, "horizon": 9}
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    app = application(Experiment(artefact_of(content, "test"), ledger), Tokens("decide", "rule"))
    with TestClient(app, headers={"authorization": "Bearer decide"}) as client:
        for size, status in ((1e9, 400), (1e5, 201), (1.0, 201)):
            made = client.post("/v1/decisions", json={"context": [[size, size], [1.0, -size]]})
            assert made.status_code == status
            if status == 400:
                assert made.json()["error"]["field"] == "context"
                assert "log-odds up to 1e+06 in size, got 1.41e+09" in made.json()["error"]["message"]
                continue
            for _ in range(5):
                made = client.post("/v1/decisions", json={"context": [[size, size], [1.0, -size]]})
                where = f"/v1/decisions/{made.json()['id']}/reward"
                assert client.post(where, json={"value": 1}).status_code == 200
    ledger.close()


def test_the_field_at_fault_is_named_where_there_are_two(tmp_path):
    conditions = {"available": [[1, 9], [1, 9], [5, 9]]}
    problem = {**CONTENT["problem"], "features": {"kind": "gaussian-contexts", "arms": 3, "dimension": 2}}
    content = {**CONTENT, "problem": problem, "horizon": 9, "arms": ["a", "b", "c"], "conditions": conditions}
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    app = application(Experiment(artefact_of(content, "test"), ledger), Tokens("decide", "rule"))
    with TestClient(app, headers={"authorization": "Bearer decide"}) as client:
        body = {"context": FEATURES[0].tolist(), "available": ["c"]}
        assert client.post("/v1/decisions", json=body).json()["error"]["field"] == "available"
        body = {"context": FEATURES[0, :2].tolist(), "available": ["a"]}
        assert client.post("/v1/decisions", json=body).json()["error"]["field"] == "context"
    ledger.close()


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_a_bonus_policy_is_played_by_the_features_of_each_user(kind, tmp_path):
    problems = {"linear": tg.LinearBandit, "logistic": tg.LogisticBandit}
    problem = problems[kind](features=tg.GivenContexts(features=FEATURES))
    path = tmp_path / "policy.json"
    tg.write_policy(path, tg.BonusThompson(problem), problem=problem, horizon=6)
    agent = Agent.load(path, seed=0)
    for _ in range(6):
        decision = agent.decide()
        assert 0 < decision.propensity <= 1
        agent.reward(decision.id, 1.0)


def learned(arms, rewards):
    """The belief by the features of the users who played these arms."""
    model = artefact_of(CONTENT, "test").model
    belief = model.prior()
    for features, arm, reward in zip(FEATURES, arms, rewards, strict=False):
        belief = model.update(belief, features, int(arm), reward)
    return belief


def same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_late_rewards_are_learned_with_the_features_of_their_decision(tmp_path):
    write_json(tmp_path / "policy.json", "policy", CONTENT, version="1")
    agent = Agent.load(tmp_path / "policy.json", seed=3)
    made = [agent.decide() for _ in range(4)]
    agent.snapshot(tmp_path / "state.json")
    for one in (agent, Agent.restore(tmp_path / "policy.json", tmp_path / "state.json")):
        for number, decision in enumerate(made):
            one.reward(decision.id, float(number))
        same(one.belief, learned([decision.arm for decision in made], range(4)))


def test_watch_and_ledger_know_them_too(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    experiment = Experiment(artefact_of(CONTENT, "test"), ledger, batch=6)
    app = application(experiment, Tokens("to decide", "to rule"))
    with TestClient(app, headers={"authorization": "Bearer to decide"}) as client:
        made = client.post("/v1/decisions", json={"users": 5}).json()["decisions"]
        for number, decision in enumerate(made):
            client.post(f"/v1/decisions/{decision['id']}/reward", json={"value": number})
        wanted = learned([decision["arm"] for decision in made], range(5))
        same(experiment.watch.believed(experiment.agent), wanted)
        client.post("/v1/decisions")  # the end of the batch
    same(experiment.agent.belief, wanted)
    same(rebuilt(ledger).belief, wanted)
    ledger.close()


def test_events_that_do_not_say_their_features_are_still_learned():
    """Those of ledgers that are older than this: with the features of the last decision, as they were then."""
    agent, watch = Agent(artefact_of(CONTENT, "test"), seed=3), Watch()
    for event in (Event("decision", 0.0, "one", "1"), Event("reward", 0.0, "one", "1", reward=2.0)):
        watch.see(agent, event)
        agent.apply(event)
    same(agent.belief, learned("1", [2.0]))
