"""The commands around logs and ledgers, and the way back from a ledger to the next policy."""

import sys

import numpy as np
import pytest

import tsgrad as tg
from tsgrad import cli
from tsgrad_runtime import read_artefact
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Ledger


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A policy, and the ledger of an experiment that it played."""
    made = tmp_path_factory.mktemp("live")
    problem = tg.BernoulliBandit(alpha=1.0, beta=3.0, arms=4)
    tg.write_policy(made / "policy.json", tg.Thompson(), problem=problem, horizon=300, arms=list("abcd"))
    ledger = Ledger(f"sqlite:///{made}/ledger.db")
    experiment = Experiment(read_artefact(made / "policy.json"), ledger)
    generator, agent = np.random.default_rng(0), experiment.agent
    rates = dict(zip("abcd", [0.1, 0.2, 0.3, 0.4], strict=True))
    for _ in range(40):
        scene = agent.scene()
        made_now = [agent.propose(scene) for _ in range(5)]
        name = agent.artefact.name
        experiment.append([Event("decision", 1.0, one.id, one.arm, one.propensity, policy=name) for one in made_now])
        paid = [float(generator.random() < rates[one.arm]) for one in made_now]
        rewards = [Event("reward", 2.0, one.id, reward=value) for one, value in zip(made_now, paid, strict=True)]
        experiment.append(rewards)
    ledger.close()
    return made


def tsgrad(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["tsgrad", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        cli.run()
    return end.value.code


def test_export_evaluate_and_fit(folder, monkeypatch, capsys):
    url = f"sqlite:///{folder}/ledger.db"
    for name in ("log.parquet", "log.csv"):
        assert not tsgrad(monkeypatch, "ledger", "export", url, "--out", folder / name)
        assert "200 decisions" in capsys.readouterr().out
        assert not tsgrad(monkeypatch, "evaluate", folder / name, "--share", "c=0.5", "--share", "d=0.5")
        assert "doubly robust" in capsys.readouterr().out
        out = folder / "prior.toml"
        assert not tsgrad(
            monkeypatch,
            "fit",
            folder / name,
            "--arm",
            "arm",
            "--reward",
            "reward",
            "--out",
            out,
            "--picture",
            folder / "fit.png",
        )
        assert "alpha" in capsys.readouterr().out
        assert (folder / "fit.png").read_bytes().startswith(b"\x89PNG")
        assert 'kind = "bernoulli"' in out.read_text()


def test_check_says_whether_a_ledger_is_whole(folder, tmp_path, monkeypatch, capsys):
    assert not tsgrad(monkeypatch, "ledger", "check", f"sqlite:///{folder}/ledger.db")
    assert "decision: 200" in capsys.readouterr().out
    ledger = Ledger(f"sqlite:///{tmp_path}/copy.db")
    experiment = Experiment(read_artefact(folder / "policy.json"), ledger)
    experiment.append([Event("decision", 1.0, str(number), "a", 0.5) for number in range(3)])
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM tsgrad_events WHERE number = 2")
    ledger.close()
    assert tsgrad(monkeypatch, "ledger", "check", f"sqlite:///{tmp_path}/copy.db") == 1
    assert "event 2 is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("ledger", "check", "sqlite:///nothing/at/all.db"), "not there"),
        (("ledger", "export", "nonsense", "--out", "x.csv"), "URL"),
        (("evaluate", "nothing.csv", "--share", "a=1"), "no such file"),
        (("evaluate", "nothing.csv", "--share", "a"), "ARM=SHARE"),
        (("serve", "nothing.json", "--ledger", "sqlite:///x.db"), "can't be read"),
    ],
)
def test_wrong_arguments_are_one_line(arguments, word, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert tsgrad(monkeypatch, *arguments) == 2
    assert word in capsys.readouterr().err


@pytest.mark.long
def test_retuning_replaces_a_policy_only_by_a_better_one(folder, tmp_path):
    """From a policy that was hardly trained, in batches; whatever comes of it, files say what was decided."""
    problem = tg.BernoulliBandit(alpha=1.0, beta=3.0, arms=4)
    short = {"episodes": 256, "iterations": 20, "validation_episodes": 2048, "seed": 0}
    batches = tg.Conditions(batch=10)
    tg.train(problem, horizon=4, conditions=batches, out=tmp_path / "first", **{**short, "iterations": 1})
    ledger = Ledger(f"sqlite:///{folder}/ledger.db")
    found = tg.retune(tmp_path / "first", ledger, out=tmp_path / "second", training=short, episodes=1024)
    ledger.close()
    assert found.run.conditions == batches
    assert found.replaces == (tmp_path / "second" / "next.json").exists()
    assert "deployed" in (tmp_path / "second" / "retuned.md").read_text()
    if found.replaces:
        following = read_artefact(tmp_path / "second" / "next.json")
        assert len(following.content["lineage"]) == 2
        assert following.horizon == 40
