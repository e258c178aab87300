"""The ledger: what was acknowledged is there, each event counts once, and the belief is a function of it."""

import contextlib
import sqlite3
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sql

from tsgrad_runtime import BadInput
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.database import LedgerDown
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment, rebuilt
from tsgrad_runtime.inspection import inspected
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.ledger_rows import numbered_of

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from live_postgresql import postgresql_server, programs

CONTENT = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "gaussian", "prior_mean": [0.0] * 3, "prior_std": [1.0] * 3, "noise_std": [1.0] * 3},
    "horizon": 1000,
    "arms": ["a", "b", "c"],
}


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    """The URL of a real server, made for these tests."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: make postgresql")
    with postgresql_server(tmp_path_factory.mktemp("postgresql")) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def ledger(request, tmp_path):
    local = request.param == "sqlite"
    opened = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}" if local else request.getfixturevalue("postgresql"))
    with opened.engine.begin() as connection:
        for table in ("events", "policies", "experiment"):
            connection.exec_driver_sql(f"DELETE FROM tsgrad_{table}")
    yield opened
    opened.close()


def experiment(ledger, **settings):
    return Experiment(artefact_of(CONTENT, "test"), ledger, **settings)


def decided(one, **fields):
    scene = one.agent.scene()
    decision = one.agent.propose(scene)
    name = one.agent.artefact.name
    return Event("decision", one.agent.clock(), decision.id, decision.arm, decision.propensity, policy=name, **fields)


def test_events_count_once_and_the_belief_can_be_rebuilt(ledger):
    one = experiment(ledger)
    events = [decided(one) for _ in range(20)]
    assert set(one.append(events)) == {"accepted"}
    rewards = [Event("reward", 1.0, event.decision, reward=number / 7) for number, event in enumerate(events[::-1])]
    assert set(one.append(rewards)) == {"accepted"}
    assert set(one.append(rewards)) == {"repeated"}
    assert one.append([rewards[0]._replace(reward=9.0)]) == ["contradiction"]
    assert one.append([rewards[0]._replace(decision="nobody")]) == ["unknown"]
    again = rebuilt(ledger)
    np.testing.assert_array_equal(one.agent.belief[0], again.belief[0])
    assert again.steps == 20
    assert not one.agent.open


def test_choices_wait_for_activation(ledger):
    one = experiment(ledger)
    event = decided(one, shown=False)
    one.append([event])
    reward = Event("reward", 1.0, event.decision, reward=1.0)
    assert one.append([reward]) == ["not shown"]
    activation = Event("activation", 1.0, event.decision)
    assert one.append([activation, reward, activation]) == ["accepted", "accepted", "repeated"]
    assert one.agent.steps == 1


def test_defaults_count_after_the_wait_and_late_rewards_do_not(ledger):
    now = [100.0]
    one = experiment(ledger, wait=10.0, default=-1.0, clock=lambda: now[0])
    events = [decided(one) for _ in range(4)]
    one.append(events)
    one.append([Event("reward", 100.0, events[0].decision, reward=3.0)])
    assert not one.overdue()
    now[0] = 111.0
    assert [event.decision for event in one.overdue()] == [event.decision for event in events[1:]]
    one.append(one.overdue())
    assert not one.overdue()
    assert one.append([Event("reward", 111.0, events[2].decision, reward=3.0)]) == ["late"]
    assert one.agent.belief[0][0].sum() == 4


def test_expiry_passes_over_any_number_of_settled_decisions_and_reads_few_rows(ledger):
    now = [100.0]
    one = experiment(ledger, wait=10.0, clock=lambda: now[0])
    events = [decided(one) for _ in range(1203)]
    one.append(events)
    one.append([Event("reward", 100.0, event.decision, reward=1.0) for event in events[:1100]])
    now[0] = 105.0
    young = [decided(one) for _ in range(20)]
    one.append(young)
    now[0] = 112.0
    assert [event.decision for event in one.overdue()] == [event.decision for event in events[1100:]]
    while late := one.overdue():
        assert set(one.append(late)) == {"accepted"}
    assert one.agent.belief[0][0].sum() == 1203
    assert len(ledger.overdue(now[0], 10, 0, 7)) == 7
    asked = []
    sql.event.listen(ledger.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert not one.overdue()
    assert len(asked) <= 2
    assert not [query for query in asked if "at <=" in query]  # what has no index is not searched by


def test_a_clock_that_is_ahead_keeps_nobody_from_the_default(ledger):
    """What was shown in the future is as old as what follows it; what is the last to be shown waits."""
    now = [1e9]
    one = experiment(ledger, wait=10.0, clock=lambda: now[0])
    times = [1000.0, 1e9, 1001.0, 1e9, 1015.0, 1e9]
    events = [decided(one)._replace(at=at) for at in times]
    one.append(events)
    due = {1010.5: 1, 1011.5: 3, 1026.0: 5}
    for now[0], count in due.items():
        assert [event.decision for event in one.overdue()] == [event.decision for event in events[:count]]
    one.append(one.overdue())
    assert not one.overdue()
    assert one.agent.belief[0][0].sum() == 5


def test_a_clock_that_was_ahead_for_long_keeps_nobody_from_the_default(ledger, monkeypatch):
    """For more decisions than are looked at together, and for more events than one query passes over."""
    monkeypatch.setattr("tsgrad_runtime.ledger._MOST_AHEAD", 1000)
    now = [1000.0]
    one = experiment(ledger, wait=10.0, clock=lambda: now[0])
    for at, count in ((1e9, 3600), (1000.0, 5)):
        one.append([decided(one)._replace(at=at) for _ in range(count)])
    for now[0] in (1005.0, 1009.0):
        assert not one.overdue()
    now[0] = 2000.0
    counted = 0
    for _ in range(20):
        late = one.overdue()
        one.append(late)
        counted += len(late)
    assert counted == one.agent.belief[0][0].sum() == 3605


OTHERS = [
    ({"arms": ["x", "y", "z"]}, r"arms \['a', 'b', 'c'\]"),
    ({"arms": ["a", "c", "b"]}, "in this order"),
    ({"problem": {"kind": "bernoulli", "alpha": [1.0] * 3, "beta": [1.0] * 3}}, "another problem, 'gaussian'"),
]


@pytest.mark.parametrize("decisions", [0, 30])
@pytest.mark.parametrize(("other", "told"), OTHERS)
def test_a_policy_that_cannot_learn_from_the_others_is_refused_and_leaves_nothing(ledger, decisions, other, told):
    """Before the first decision, too: two that had started on an empty ledger once broke each other for good."""
    one = experiment(ledger)
    one.append([decided(one) for _ in range(decisions)])
    with pytest.raises(BadInput, match=told):
        Experiment(artefact_of(CONTENT | other, "test"), ledger)
    assert list(ledger.policies()) == [one.agent.artefact.name]
    assert experiment(ledger).agent.process == 1


def test_the_next_version_of_a_policy_goes_on_with_the_ledger(ledger):
    one = experiment(ledger)
    problem = {**CONTENT["problem"], "prior_mean": [0.5] * 3, "prior_std": [0.3] * 3}
    following = Experiment(artefact_of(CONTENT | {"problem": problem, "horizon": 500}, "test"), ledger)
    for each in (one, following, one):
        each.append([decided(each)])
    assert following.catch_up() == 1
    assert following.agent.steps == one.agent.steps == 3
    assert len(ledger.policies()) == 2


def test_versions_whose_arms_differ_take_the_same_new_arm(ledger):
    """Its event holds all of its parameters, as whoever added it had them."""
    one = experiment(ledger)
    problem = {**CONTENT["problem"], "prior_mean": [0.5, 0.1, 0.2]}
    following = Experiment(artefact_of(CONTENT | {"problem": problem}, "test"), ledger)
    with pytest.raises(BadInput, match="prior_mean of a new arm must be given"):
        following.agent.arm_event("d", {})
    one.append([one.agent.arm_event("d", {"prior_std": 2.0})])
    one.append([decided(one) for _ in range(30)])
    following.append([decided(following) for _ in range(30)])
    assert following.agent.arms == ["a", "b", "c", "d"]
    assert {name: values[3] for name, values in following.agent.model.parameters.items()} == {
        "prior_mean": 0.0,
        "prior_std": 2.0,
        "noise_std": 1.0,
    }


def test_a_version_that_takes_no_arms_says_so(ledger):
    one = experiment(ledger)
    one.append([one.agent.arm_event("d", {})])
    policy = {
        "kind": "reshaped-gaussian",
        **dict.fromkeys(("prior_mean", "log_prior_variance", "log_precision_ratio", "decay"), [0.0] * 3),
    }
    with pytest.raises(BadInput, match=r"event 1 does not belong to this policy \(arms can't be added"):
        Experiment(artefact_of(CONTENT | {"policy": policy}, "test"), ledger)


def test_a_ledger_of_two_versions_without_a_decision_is_whole(ledger):
    one = experiment(ledger)
    Experiment(artefact_of(CONTENT | {"horizon": 500}, "test"), ledger)
    one.append([one.agent.arm_event("d", {})])
    assert inspected(ledger).faults == []


def test_fixed_features_are_those_of_all_policies(ledger):
    problem = {
        "kind": "linear",
        "prior_mean": [0.0] * 2,
        "prior_covariance": np.eye(2).tolist(),
        "noise_std": [1.0] * 3,
    }
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    Experiment(artefact_of(CONTENT | {"problem": {**problem, "features": features}}, "test"), ledger)
    with pytest.raises(BadInput, match="fixed features must be the same"):
        Experiment(artefact_of(CONTENT | {"problem": {**problem, "features": features[::-1]}}, "test"), ledger)


@pytest.mark.parametrize(("arm", "reward"), [("x", 1.0), ("a", 1e300)])
def test_nothing_is_appended_once_the_state_cannot_follow_the_ledger(ledger, arm, reward):
    one = experiment(ledger)
    event = decided(one)._replace(arm=arm)
    ledger.append([event, Event("reward", 0.0, event.decision, reward=reward)])  # as a foreign program would
    with pytest.raises(BadInput, match=f"event {1 if arm == 'x' else 2} does not belong"):
        one.catch_up()
    for _ in range(2):
        with pytest.raises(LedgerDown, match="does not belong"):
            one.append([decided(one)])
    assert len(list(ledger.all_events())) == 2


def test_what_another_process_has_settled_is_not_settled_again(ledger):
    """Decisions that a process has made are not looked up again: the database must say that one has its reward."""
    one, other = experiment(ledger), experiment(Ledger(ledger.url))
    events = [decided(one) for _ in range(100)]
    one.append(events)
    rewards = [Event("reward", 1.0, event.decision, reward=1.0) for event in events]
    other.append([rewards[0], rewards[1]._replace(reward=2.0)])
    assert one.append(rewards) == ["repeated", "contradiction", *["accepted"] * 98]
    assert len(list(ledger.all_events())) == 200
    other.catch_up()
    np.testing.assert_array_equal(one.agent.belief[0], other.agent.belief[0])
    other.ledger.close()


def test_two_processes_agree_whatever_the_order_of_their_transactions(ledger):
    pair = [experiment(ledger), experiment(ledger)]
    assert pair[0].agent.process != pair[1].agent.process
    lock, failures = threading.Lock(), []

    def play(one, seed):
        generator = np.random.default_rng(seed)
        try:
            for _ in range(15):
                events = [decided(one) for _ in range(int(generator.integers(1, 5)))]
                with lock:  # agents are not made for threads; ledgers are
                    one.append(events)
                one.append([Event("reward", 0.0, event.decision, reward=generator.normal()) for event in events])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=play, args=(one, seed)) for seed, one in enumerate(pair)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for one in pair:
        one.catch_up()
    np.testing.assert_array_equal(pair[0].agent.belief[0], pair[1].agent.belief[0])
    np.testing.assert_array_equal(pair[0].agent.belief[0], rebuilt(ledger).belief[0])
    decisions = [event.decision for _, event in ledger.all_events() if event.kind == "decision"]
    assert len(set(decisions)) == len(decisions)


def test_arms_that_come_and_go_are_events(ledger):
    one = experiment(ledger)
    one.append([Event("arm", 0.0, arm="d", parameters={"prior_mean": 50.0}), Event("withdrawal", 0.0, arm="a")])
    again = rebuilt(ledger)
    assert again.arms == ["a", "b", "c", "d"]
    assert again.decide().arm == "d"


def test_another_experiment_is_refused(ledger):
    experiment(ledger, batch=2)
    with pytest.raises(BadInput, match="settings"):
        experiment(ledger, batch=3)


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path):
    """SQLite's limit on pages stands for a full disk."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    one = experiment(ledger)
    one.append([decided(one)])
    with ledger.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    acknowledged = 1
    told = ""
    while not told:
        try:
            one.append([decided(one) for _ in range(20)])
            acknowledged += 20
        except LedgerDown as down:
            told = str(down)
    assert "full" in told
    with ledger.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 100000")
    assert one.append([decided(one)]) == ["accepted"]
    assert rebuilt(ledger).steps == acknowledged + 1
    ledger.close()


@pytest.mark.parametrize("url", ["nothing", 3, None, "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_what_is_no_ledger_is_refused(url):
    with pytest.raises(BadInput, match="ledger"):
        Ledger(url)


def test_a_row_without_its_number_is_told():
    """As SQLite gave it from a file with replaced bytes; no database would let such a row in."""
    row = types.SimpleNamespace(**dict.fromkeys((*Event._fields, "number")), once=None)
    row.kind, row.at = "decision", 1.0
    with pytest.raises(LedgerDown, match="damaged"):
        numbered_of(row)


def test_a_damaged_file_is_told(tmp_path):
    (tmp_path / "ledger.db").write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(LedgerDown, match="not a database"):
        Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_ledgers_are_in_wal_mode(tmp_path):
    Ledger(f"sqlite:///{tmp_path / 'ledger.db'}").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_process_that_hangs_keeps_no_others(ledger):
    """In PostgreSQL, a transaction that does nothing is ended; in SQLite, a lock ends with its process."""
    if ledger.engine.dialect.name == "sqlite":
        pytest.skip("only a server has such settings")
    with ledger.engine.connect() as connection:
        for setting in ("lock_timeout", "idle_in_transaction_session_timeout"):
            assert connection.exec_driver_sql(f"SHOW {setting}").scalar_one() == "30s"


def play_some(ledger, **settings):
    """Four decisions: the third is activated later, and the last one gets the default, if there is any."""
    now = [100.0]
    one = Experiment(artefact_of(CONTENT | OTHERS[2][0], "test"), ledger, clock=lambda: now[0], **settings)
    events = [decided(one, available=["a", "b"])._replace(arm="a", shown=number != 2) for number in range(4)]
    one.append([*events, Event("activation", 100.0, events[2].decision)])
    one.append([Event("reward", 101.0, event.decision, reward=1.0) for event in events[:3]])
    now[0] = 200.0
    one.append(one.overdue())


DAMAGES = [
    ("DELETE FROM tsgrad_events WHERE number > 7", "events 8 to 9 are missing: the ledger has counted 9"),
    ("DELETE FROM tsgrad_events WHERE number = 9", "event 9 is missing: the ledger has counted 9"),
    ("DELETE FROM tsgrad_events", "events 1 to 9 are missing"),
    ("DELETE FROM tsgrad_events WHERE number IN (2, 3)", "events 2 to 3 are missing: 4 follows"),
    ("UPDATE tsgrad_experiment SET last = 12", "events 10 to 12 are missing"),
    ("UPDATE tsgrad_events SET arm = '\"b\"' WHERE number = 6", "event 6: arm or features are not those of decision"),
    ("UPDATE tsgrad_events SET features = '[1]' WHERE number = 6", "event 6: arm or features"),
    ("UPDATE tsgrad_events SET arm = '\"b\"' WHERE number = 5", "event 5: arm 'b' is not that of decision"),
    ("UPDATE tsgrad_events SET arm = '\"c\"' WHERE number = 1", "event 1: arm 'c' was not available"),
    ("UPDATE tsgrad_events SET reward = 0.5 WHERE number = 6", "event 6: reward must be 0 or 1"),
    ("UPDATE tsgrad_events SET reward = NULL WHERE number = 6", "event 6: reward must be"),
    ("UPDATE tsgrad_events SET reward = 1 WHERE number = 9", "event 9: default reward 1.0 is not that"),
    ("UPDATE tsgrad_events SET kind = 'reward' WHERE number = 5", "event 5: decision"),
    ("UPDATE tsgrad_events SET policy = 'x' WHERE number = 1", "event 1: policy 'x' is not kept"),
    ("DELETE FROM tsgrad_policies", "no policy is kept"),
]


@pytest.mark.parametrize(("damage", "told"), DAMAGES)
def test_a_ledger_that_is_not_whole_is_told(ledger, damage, told):
    play_some(ledger, wait=10.0)
    assert inspected(ledger) == ({"decision": 4, "activation": 1, "reward": 3, "default": 1}, [])
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql(damage)
    assert inspected(ledger).faults[0].startswith(told)


def test_a_default_that_nobody_was_to_wait_for_is_told(ledger):
    play_some(ledger)
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE tsgrad_events SET kind = 'default' WHERE number = 6")
    assert "none was to be waited for" in inspected(ledger).faults[0]


def test_a_ledger_that_is_read_is_left_as_it_is(tmp_path):
    empty, foreign = tmp_path / "empty.db", tmp_path / "foreign.db"
    empty.touch()
    with contextlib.closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE other (x)")
    before = {path: path.read_bytes() for path in (empty, foreign)}
    for path in before:
        with pytest.raises(BadInput, match="holds no experiment"):
            Ledger(f"sqlite:///{path}", reading=True)
    with pytest.raises(BadInput, match="is not there"):
        Ledger(f"sqlite:///{tmp_path}/nothing.db", reading=True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_ledger_that_is_read_can_not_be_written_to_and_keeps_nobody_waiting(ledger):
    one = experiment(ledger)
    reader = Ledger(ledger.url, reading=True)
    with ledger.engine.begin() as connection:  # somebody who appends holds the lock
        connection.exec_driver_sql("UPDATE tsgrad_experiment SET last = last")
        assert inspected(reader) == ({}, [])
    with pytest.raises(LedgerDown, match=r"read-?only"):
        reader.append([decided(one)])
    reader.close()
