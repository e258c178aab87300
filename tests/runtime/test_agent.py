"""The agent: rewards late, out of order, twice or never; choices never shown; arms that come and go; snapshots."""

import json

import numpy as np
import pytest

from tsgrad_runtime import Agent, BadInput
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.events import Event

GAUSSIAN = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "gaussian", "prior_mean": [0.0] * 3, "prior_std": [1.0] * 3, "noise_std": [1.0] * 3},
    "horizon": 1000,
    "arms": ["a", "b", "c"],
}


LOGISTIC = {"kind": "logistic", "prior_mean": [0.0], "prior_covariance": [[1.0]]}
RESHAPED = {
    "kind": "reshaped-gaussian",
    "prior_mean": 0.0,
    "log_prior_variance": 0.0,
    "log_precision_ratio": 0.0,
    "decay": 0.0,
}
WEIGHTS = (
    *("weight_input", "weight_hidden", "bias", "bias_candidate"),
    *("head_weight", "head_bias", "reward_location", "reward_scale"),
)


def agent(content=GAUSSIAN, **options):
    return Agent(artefact_of(content, "test"), **{"seed": 1, **options})


def test_order_and_repetition_of_rewards_change_nothing_but_rounding():
    ours, theirs = agent(), agent()
    made = [[one.decide() for _ in range(20)] for one in (ours, theirs)]
    assert [decision.arm for decision in made[0]] == [decision.arm for decision in made[1]]
    for number in range(20):
        assert ours.reward(made[0][number].id, number / 7)
        assert not ours.reward(made[0][number].id, number / 7)
        assert theirs.reward(made[1][19 - number].id, (19 - number) / 7)
    np.testing.assert_allclose(ours.belief[0], theirs.belief[0], rtol=1e-12)
    assert ours.belief[0][0].sum() == 20


def test_contradictions_and_unknown_decisions_are_refused_and_change_nothing():
    one = agent()
    decision = one.decide()
    one.reward(decision.id, 1.0)
    before = one.belief[0].copy()
    for call in (lambda: one.reward(decision.id, 2.0), lambda: one.reward("nobody", 1.0), lambda: one.activate("x")):
        with pytest.raises(BadInput, match="decision"):
            call()
    for value in (None, "1", [1.0], float("nan"), 1e300):
        with pytest.raises(BadInput, match="reward"):
            one.reward(one.decide().id, value)
    np.testing.assert_array_equal(one.belief[0], before)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda one: one.reward([1], 1),
        lambda one: one.activate({}),
        lambda one: one.reward(None, 1),
        lambda one: one.decide(available=[["a"]]),
        lambda one: one.decide(available=3),
        lambda one: one.decide(available="ab"),  # not arms a and b
        lambda one: one.decide(available=["a", None]),
    ],
)
def test_what_is_no_name_is_refused(wrong):
    with pytest.raises(BadInput, match=r"decision must be the id|available must be names"):
        wrong(agent())


def test_decisions_say_which_arms_could_be_played(monkeypatch):
    one, seen = agent(), []
    apply = one.apply
    monkeypatch.setattr(one, "apply", lambda event: seen.append(event.available) or apply(event))
    one.decide()
    one.decide(available=iter(["c", "a"]))
    one.decide(available=["a", "b", "c"])
    one.withdraw("b")
    one.decide()
    assert seen == [None, ["a", "c"], None, None, ["a", "c"]]  # the fourth is the withdrawal itself


def test_the_default_counts_after_the_wait():
    now = [0.0]
    one = agent(wait=10.0, default=-1.0, clock=lambda: now[0])
    first, second = one.decide(), one.decide()
    now[0] = 9.0
    one.reward(first.id, 2.0)
    now[0] = 10.0
    assert one.expire() == 1
    assert one.belief[0][1].sum() == 1.0
    with pytest.raises(BadInput, match="after the wait"):
        one.reward(second.id, 0.5)


def test_defaults_count_before_the_next_decision_even_where_no_reward_ever_comes():
    now = [0.0]
    one = agent(wait=10.0, default=-1.0, clock=lambda: now[0])
    one.decide(users=3)
    now[0] = 10.0
    one.decide()
    assert one.belief[0][0].sum() == 3


@pytest.mark.parametrize("available", [None, ["a", "b"]])
def test_chances_of_a_scene_are_computed_once(available, monkeypatch):
    one, computed = agent(), []
    shares = one.policy.shares
    monkeypatch.setattr(one.policy, "shares", lambda *given: computed.append(1) or shares(*given))
    decisions = one.decide(available=available, users=50)
    assert len({(decision.arm, decision.propensity) for decision in decisions}) <= 3
    assert len(computed) == 1
    one.reward(decisions[0].id, 3.0)
    assert one.decide(available=available).propensity != decisions[0].propensity
    assert len(computed) == 3


@pytest.mark.parametrize(
    ("policy", "times"),
    [({"kind": "thompson"}, 1), ({"kind": "reshaped-evidence", "log_evidence_weight": 0.0, "decay": 1.0}, 20)],
)
@pytest.mark.parametrize("available", [None, ["a", "b"]])
def test_chances_are_computed_once_between_two_rewards_unless_they_depend_on_time(
    policy, times, available, monkeypatch
):
    one, computed = agent({**GAUSSIAN, "policy": policy}), []
    shares = one.policy.shares
    monkeypatch.setattr(one.policy, "shares", lambda *given: computed.append(1) or shares(*given))
    assert all(0 < one.decide(available=available).propensity < 1 for _ in range(20))
    assert len(computed) == times


def test_an_arm_more_leaves_decisions_and_other_agents_as_they_were():
    """Propensities are computed when they are asked for, and two agents may play one artefact."""
    artefact = artefact_of(
        {**GAUSSIAN, "policy": {"kind": "index", "table": [[[0.0] * 9]], "spread": [[[1.0] * 9]]}}, ""
    )
    one, other = Agent(artefact, seed=1), Agent(artefact, seed=1)
    decision = one.decide()
    one.add_arm("d", prior_mean=50.0)
    assert decision.propensity == pytest.approx(1 / 3)
    assert [other.decide().propensity, one.decide().propensity] == pytest.approx([1 / 3, 1])
    assert other.decide().arm in "abc"


def test_no_arm_is_added_to_a_policy_with_one_number_for_each():
    """Be it in one field alone."""
    with pytest.raises(BadInput, match="arms can't be added"):
        agent({**GAUSSIAN, "policy": {**RESHAPED, "log_precision_ratio": [0.0, 0.1, 0.2]}}).add_arm("d")


def test_choices_that_were_not_shown_do_not_count():
    now = [0.0]
    one = agent(wait=10.0, clock=lambda: now[0])
    hidden = one.decide(shown=False)
    assert one.steps == 0
    with pytest.raises(BadInput, match="activate"):
        one.reward(hidden.id, 1.0)
    now[0] = 100.0
    assert one.expire() == 0  # what nobody saw gets no default
    one.decide()
    assert list(one.unshown) == [hidden.id]
    assert hidden.id not in one.open  # where every decision looks for what is late
    assert one.activate(hidden.id)
    assert not one.activate(hidden.id)
    assert one.steps == 2
    assert one.reward(hidden.id, 1.0)


def test_beliefs_are_renewed_every_batch():
    one = agent(batch=4)
    decisions = [one.decide() for _ in range(3)]
    for decision in decisions:
        one.reward(decision.id, 1.0)
    assert one.belief[0].sum() == 0
    one.decide()
    assert one.belief[0][0].sum() == 3


def test_users_of_one_batch_are_drawn_from_one_belief():
    decisions = agent().decide(users=2000)
    counts = np.array([sum(decision.arm == name for decision in decisions) for name in "abc"])
    # Each share is a third with s.e. 0.0105; three of them beyond 4.2 together once in 10,000 such tests.
    assert np.all(np.abs(counts / 2000 - 1 / 3) < 4.2 * 0.0106)
    assert {round(decision.propensity, 9) for decision in decisions} == {round(1 / 3, 9)}


def test_arms_come_and_go():
    one = agent()
    one.add_arm("d", prior_mean=100.0)
    assert one.decide().arm == "d"
    one.withdraw("d")
    assert {one.decide().arm for _ in range(50)} <= set("abc")
    assert {one.decide(available=["a", "d"]).arm for _ in range(5)} == {"a"}
    for wrong in (lambda: one.decide(available=["d"]), lambda: one.withdraw("e"), lambda: one.add_arm("a")):
        with pytest.raises(BadInput):
            wrong()


@pytest.mark.parametrize(
    "parameters",
    [
        {"prior_mean": [1.0, 2.0], "prior_std": [1.0, 1.0], "noise_std": [1.0, 1.0]},
        {"prior_mean": []},
        {"noise_std": 0},
    ],
)
def test_a_new_arm_is_one_arm(parameters):
    """Lists made two arms of one name, and every later decision failed."""
    one = agent()
    with pytest.raises(BadInput, match=r"prior_mean must be one number|noise_std must be > 0"):
        one.add_arm("d", **parameters)
    assert not one.apply(Event("arm", 0.0, arm="d", parameters=parameters))  # in a ledger of before
    assert one.model.arms == len(one.arms) == 3


def test_an_arm_that_cannot_come_or_go_any_more_changes_nothing():
    """Events that were checked before others came first: every agent must leave out the same ones."""
    one = agent()
    assert one.apply(Event("arm", 0.0, arm="d", parameters={"prior_mean": 1.0}))
    assert not one.apply(Event("arm", 0.0, arm="d", parameters={"prior_mean": 1.0}))
    assert not one.apply(Event("arm", 0.0, arm="e", parameters={}))  # arms differ now, so that it needs a mean
    assert [one.apply(Event("withdrawal", 0.0, arm=name)) for name in "abcd"] == [True, True, True, False]
    assert one.arms == ["a", "b", "c", "d"]
    assert one.decide().arm == "d"


def test_a_clock_that_was_ahead_keeps_no_decision_from_its_default():
    """What was shown in the future is as old as what follows it; what is the last to be shown waits."""
    now = [1e9]
    one = agent(wait=10.0, clock=lambda: now[0])
    for now[0] in (1e9, 1000.0, 1e9, 1001.0, 1e9, 1e9):
        one.decide()
    counts = []
    for now[0] in (1009.0, 1010.5, 1012.0, 1100.0):
        one.expire()
        counts.append(int(one.belief[0][0].sum()))
    assert counts == [0, 2, 4, 4]


def test_a_default_is_a_number_though_nothing_waits_for_it():
    with pytest.raises(BadInput, match="default must be finite"):
        agent(default=float("nan"))


def test_a_sampled_propensity_is_a_function_of_what_was_known(tmp_path):
    """Whoever asks, and whenever: later, or after a snapshot."""
    from tsgrad_runtime.files import write_json

    problem = {
        **{"kind": "linear", "features": [[1.0, 0.0], [0.5, 1.0]], "noise_std": [1.0, 0.5]},
        **{"prior_mean": [0.0, 0.0], "prior_covariance": [[1.0, 0.2], [0.2, 1.0]]},
    }
    path, state = tmp_path / "policy.json", tmp_path / "snapshot.json"
    write_json(path, "policy", {"policy": {"kind": "thompson"}, "problem": problem, "horizon": 50}, version="1")
    one = Agent.load(path, seed=5)
    for _ in range(3):
        one.reward(one.decide().id, 1.0)
    one.snapshot(state)
    first, other = one.decide(), Agent.restore(path, state)
    told = first.propensity
    later = [one.decide() for _ in range(5)]
    assert {decision.propensity for decision in later if decision.arm == first.arm} <= {told}
    [other.decide() for _ in range(2)]
    again = other.decide()
    assert again.propensity == (told if again.arm == first.arm else 1 - told)
    one.reward(first.id, 1.0)
    one.shares(one.scene())
    assert first.propensity == told


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_a_logistic_posterior_keeps_what_the_prior_knows(size):
    """Along e1, which is seen, the spread is 1 / sqrt(1 + sum of w x^2); along e2, which is not, it stays that of the
    prior: products of features of 1e9, added to one, had left nothing of it.
    """
    problem = {
        "kind": "logistic",
        "features": [[1.0, 0.0]],
        "prior_mean": [0.0] * 2,
        "prior_covariance": np.eye(2).tolist(),
    }
    model = artefact_of({**GAUSSIAN, "problem": problem, "arms": ["a"]}, "test").model
    belief = model.prior()
    for reward in (0.0, 1.0) * 20:
        belief = model.update(belief, np.array([[size, 0.0]]), 0, reward)
    mean, root = model.whitened(belief)
    np.testing.assert_allclose(mean, 0.0, atol=1e-9 / size)
    np.testing.assert_allclose(root @ root.T, np.diag([1 / (1 + 10 * size**2), 1.0]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("problem", ["gaussian", "linear", "logistic", "ball"])
def test_snapshots_go_on_bit_for_bit(problem, tmp_path):
    plane = {"prior_mean": [0.0, 0.0], "prior_covariance": [[1.0, 0.2], [0.2, 1.0]]}
    given = {
        "gaussian": {**GAUSSIAN["problem"]},
        "linear": {"kind": "linear", "features": [[1.0, 0.0], [0.5, 1.0]], **plane, "noise_std": [1.0, 0.5]},
        "logistic": {"kind": "logistic", "features": [[1.0, 0.0], [0.5, 1.0]], **plane},
        "ball": {"kind": "ball", **plane, "noise_std": 1.0},
    }[problem]
    from tsgrad_runtime.files import write_json

    path, state = tmp_path / "policy.json", tmp_path / "snapshot.json"
    write_json(path, "policy", {"policy": {"kind": "thompson"}, "problem": given, "horizon": 50}, version="1")

    def play(one, steps):
        for step in range(steps):
            decision = one.decide()
            if step % 3:
                one.reward(decision.id, step % 2)

    whole = Agent.load(path, seed=5, batch=2)
    play(whole, 9)
    whole.snapshot(state)
    restored = Agent.restore(path, state)
    for one in (whole, restored):
        play(one, 8)
    for ours, theirs in zip(whole.belief, restored.belief, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert whole.decide().id == restored.decide().id


def test_a_snapshot_of_another_policy_is_refused(tmp_path):
    from tsgrad_runtime.files import write_json

    for name, std in (("one", 1.0), ("two", 2.0)):
        content = {**GAUSSIAN, "problem": {**GAUSSIAN["problem"], "prior_std": [std] * 3}}
        write_json(tmp_path / f"{name}.json", "policy", content, version="1")
    Agent.load(tmp_path / "one.json").snapshot(tmp_path / "state.json")
    with pytest.raises(BadInput, match="another policy"):
        Agent.restore(tmp_path / "two.json", tmp_path / "state.json")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": "long"}, "horizon"),
        ({"format": 2}, "format"),
        ({"policy": {"kind": "information-directed"}}, "can't be played"),
        ({"policy": {"kind": "nothing"}}, "kind"),
        ({"problem": {"kind": "gaussian", "prior_mean": [0.0]}}, "missing"),
        ({"problem": {"kind": "bernoulli", "alpha": [1.0], "beta": [-1.0]}}, "beta"),
        ({"arms": ["a"]}, "arms"),
        ({"conditions": {"batch": 0}}, "conditions"),
        ({"conditions": {"batch": 10**30}}, "batch"),
        ({"conditions": {"batch": 2**30}}, "users in all"),
        ({"conditions": {"batch": 2}, "horizon": 10**13}, "horizon"),
        ({"conditions": {"floor": [0.1, 0.1]}}, "floor must be one number"),
        ({"conditions": {"available": [[True], [True, False]]}}, "available"),
        ({"conditions": {"available": [["a", "b"]] * 3}}, "available"),
        ({"conditions": {"available": [[None, 2]] * 3}}, "available"),
        ({"policy": {"kind": "scaled-thompson", "factor": [1.0, 2.0]}}, "factor must be one number"),
        ({"policy": {"kind": "bonus", "bonus": [0, 0], "log_spread": [0, 0]}}, "coefficients"),
        ({"policy": {"kind": "index", "table": [[0.0]]}}, "table"),
        ({"policy": {"kind": "index", "table": [[[]]]}}, "table"),
        ({"policy": {"kind": "index", "table": [[[0.0]]], "spread": [[[-1.0]]]}}, "spread must be >= 0"),
        ({"policy": {"kind": "recurrent", "form": "free", "reads_features": False}}, "weight_input is missing"),
        ({"policy": {"kind": "rl2", "start": [0.0]}}, "weight_input is missing"),
        ({"policy": {"kind": "rl2", "start": [0.0], **{name: [[1.0]] for name in WEIGHTS}}}, "chances"),
        ({"policy": {"kind": "batch-knowledge-gradient", "sizes": []}}, "sizes"),
        ({"policy": {"kind": "batch-knowledge-gradient", "sizes": [-5.0]}}, "sizes"),
        ({"policy": {"kind": "soft-elim", "log_confidence_scale": -1e60}}, "log_confidence_scale"),
        ({"policy": {"kind": "top-two-thompson", "beta": 5}}, "beta must be a number from 0 to 1"),
        ({"policy": {"kind": "satisficing-thompson", "tolerance": -1}}, "tolerance"),
        ({"policy": {**RESHAPED, "log_precision_ratio": [0.0]}}, "shapes"),
        ({"policy": {**RESHAPED, "ratio": 1.0}}, "a field of policy"),
        ({"policy": {"kind": "relaxation-sampling", "penalty": "INDEX"}, "horizon": 10**9}, "horizon"),
        ({"horizon": 10**20}, "horizon"),
        ({"horizon": 10**400}, "horizon"),
        ({"expected": {"regret": float("nan")}}, "regret must be a finite"),
        ({"expected": {"regret": 10**400}}, "regret must be a finite"),
        ({"problem": {**LOGISTIC, "features": {"kind": "normal-contexts", "arms": float("inf")}}}, "arms"),
        ({"problem": {**LOGISTIC, "features": {"kind": "normal-contexts", "arms": -1}}}, "arms"),
        ({"arms": ["", "b", "c"]}, "empty"),
        ({"conditions": {"flor": 0.3}}, "flor"),
    ],
)
def test_artefacts_that_cannot_be_played_say_why(change, word, tmp_path):
    path = tmp_path / "policy.json"
    content = {"tsgrad": "policy", "format": 1, "version": "1", **GAUSSIAN, **change, "sha256": "edited"}
    path.write_text(json.dumps(content))
    with pytest.raises(BadInput, match=word) as refused:
        Agent.load(path)
    assert "\n" not in str(refused.value)


def test_a_default_must_be_a_reward_that_can_come():
    binary = {"policy": {"kind": "thompson"}, "problem": {"kind": "bernoulli", "alpha": [1, 1], "beta": [1, 1]}}
    with pytest.raises(BadInput, match=r"default can't be a reward: .* got 2"):
        agent({**binary, "horizon": 9}, wait=5.0, default=2.0)


def test_a_new_arm_has_a_name():
    with pytest.raises(BadInput, match="not empty, got ''"):
        agent().add_arm("")


def test_a_wait_is_one_number():
    with pytest.raises(BadInput, match="wait must be one number"):
        agent(wait=[1, 2])


def test_after_the_horizon_it_decides_as_at_the_last_step():
    one = agent({**GAUSSIAN, "horizon": 3, "policy": {"kind": "index", "table": np.zeros((1, 3, 3)).tolist()}})
    for _ in range(8):
        decision = one.decide()
        assert decision.propensity == 1.0
        one.reward(decision.id, 1.0)
