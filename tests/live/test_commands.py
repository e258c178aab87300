"""The commands around logs and ledgers, and the way back from a ledger to the next policy."""

import functools
import sys
import tomllib

import numpy as np
import pytest

import tsgrad as tg
from tsgrad import cli
from tsgrad.live import retuning
from tsgrad.live.export import exported
from tsgrad.live.trust import Kept, Robustness
from tsgrad.registry import from_data, to_data
from tsgrad.report.retuning_report import retuning_report
from tsgrad_runtime import read_artefact
from tsgrad_runtime.connections import GuardedProtocol
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Ledger

RATES = dict(zip("abcd", [0.1, 0.2, 0.3, 0.4], strict=True))


def play(experiment, steps, rates=RATES):
    """Five decisions a step, with their rewards."""
    generator, agent = np.random.default_rng(0), experiment.agent
    for _ in range(steps):
        scene = agent.scene()
        made_now = [agent.propose(scene) for _ in range(5)]
        name = agent.artefact.name
        experiment.append([Event("decision", 1.0, one.id, one.arm, one.propensity, policy=name) for one in made_now])
        paid = [float(generator.random() < rates[one.arm]) for one in made_now]
        rewards = [Event("reward", 2.0, one.id, reward=value) for one, value in zip(made_now, paid, strict=True)]
        experiment.append(rewards)


def show_all(experiment, users, rates):
    """Every arm to so many users, in turn: agents of ledgers draw their own seeds, and this has none."""
    generator, name = np.random.default_rng(0), experiment.agent.artefact.name
    for number in range(users):
        for arm, rate in rates.items():
            decided = Event("decision", 1.0, f"{arm}{number}", arm, 1 / len(rates), policy=name)
            paid = Event("reward", 2.0, decided.decision, reward=float(generator.random() < rate))
            experiment.append([decided, paid])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A policy, and the ledger of an experiment that it played."""
    made = tmp_path_factory.mktemp("live")
    problem = tg.BernoulliBandit(alpha=1.0, beta=3.0, arms=4)
    tg.write_policy(made / "policy.json", tg.Thompson(), problem=problem, horizon=300, arms=list("abcd"))
    ledger = Ledger(f"sqlite:///{made}/ledger.db")
    play(Experiment(read_artefact(made / "policy.json"), ledger), 40)
    ledger.close()
    return made


SHORT = {"episodes": 64, "iterations": 1, "validation_episodes": 256, "seed": 0}


def trained(out, problem, **options):
    """A run that was hardly trained, and its policy file with names for its arms."""
    run = tg.train(problem, horizon=40, out=out, **SHORT, **options)
    run.save(out.with_suffix(".json"), arms=list("abcd"))
    return run


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    """A run, and the ledger in which its policy decided for 200 users."""
    made = tmp_path_factory.mktemp("deployed")
    trained(made / "run", tg.BernoulliBandit(alpha=1.0, beta=3.0, arms=4))
    ledger = Ledger(f"sqlite:///{made}/ledger.db")
    play(Experiment(read_artefact(made / "run.json"), ledger), 40)
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
        written = tomllib.loads(out.read_text())["problem"]
        assert from_data(written, what="problem").arms == written["arms"] == 10
        assert isinstance(written["alpha"], float)  # one number for all arms


def test_an_uncertain_prior_is_written_for_training(tmp_path, monkeypatch, capsys):
    """Of experiments that differ: what is written is what fit.uncertain() is, and can be trained on."""
    generator = np.random.default_rng(0)
    rates = np.clip(np.repeat([0.1, 0.2, 0.4, 0.6], 6) + generator.normal(0, 0.03, 24), 0.01, 0.99)
    columns = {"week": np.repeat(np.arange(4), 6), "item": np.tile(np.arange(6), 4)}
    columns |= {"clicks": generator.binomial(300, rates), "views": np.full(24, 300)}
    log, out = tmp_path / "log.csv", tmp_path / "prior.toml"
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    log.write_text("\n".join([",".join(columns), *rows]))
    named = ["--arm", "item", "--reward", "clicks", "--pulls", "views", "--experiment", "week"]
    assert not tsgrad(monkeypatch, "fit", log, *named, "--arms", 3, "--uncertain", "--out", out)
    assert "Experiments differ" in capsys.readouterr().out
    written = from_data(tomllib.loads(out.read_text())["problem"], what="problem")
    fit = tg.fit_prior(log, family="bernoulli", arm="item", reward="clicks", pulls="views", experiment="week")
    assert to_data(written) == to_data(fit.uncertain(arms=3))
    with out.open("a") as file:
        file.write("\n[training]\nhorizon = 20\niterations = 1\nepisodes = 64\nvalidation_episodes = 256\n")
    assert not tsgrad(monkeypatch, "train", out, "--out", tmp_path / "run")
    assert (tmp_path / "run" / "policy.json").exists()


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
        (("evaluate", "nothing.csv", "--share", "a=0.5", "--share", "a=0.5"), "once per arm"),
        (("retune", "run", "--ledger", "sqlite:///nothing.db", "--out", "next"), "not there"),
        (("serve", "nothing.json", "--ledger", "sqlite:///x.db"), "can't be read"),
        (("serve", "x.json", "--ledger", "sqlite:///x.db", "--port", "99999"), "--port"),
        (("serve", "x.json", "--ledger", "sqlite:///x.db", "--rate", "0"), "--rate"),
        (("serve", "x.json", "--ledger", "sqlite:///x.db", "--renewal", "0"), "--renewal"),
    ],
)
def test_wrong_arguments_are_one_line(arguments, word, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert tsgrad(monkeypatch, *arguments) == 2
    assert word in capsys.readouterr().err
    assert not list(tmp_path.iterdir())  # no database is made where a name was mistyped


def test_a_token_that_is_set_to_nothing_is_made_and_printed(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TSGRAD_TOKEN", "")
    monkeypatch.setenv("TSGRAD_ADMIN_TOKEN", "chosen")
    used = {}
    monkeypatch.setattr("uvicorn.run", lambda *_, **options: used.update(options))
    tsgrad(monkeypatch, "serve", str(folder / "policy.json"), "--ledger", f"sqlite:///{tmp_path}/ledger.db")
    assert used["http"] is GuardedProtocol
    (line,) = capsys.readouterr().out.splitlines()
    name, _, token = line.partition("=")
    assert name == "TSGRAD_TOKEN"
    assert len(token) >= 32


def test_a_token_is_taken_without_what_is_around_it_or_refused(folder, tmp_path, monkeypatch, capsys):
    """A line end from a file of secrets never matched what requests can carry."""
    served = {}
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: None)
    monkeypatch.setattr("tsgrad_runtime.service.application", lambda _, tokens, **__: served.update(tokens=tokens))
    monkeypatch.setenv("TSGRAD_TOKEN", " chosen\n")
    monkeypatch.setenv("TSGRAD_ADMIN_TOKEN", "other\r\n")
    command = ("serve", str(folder / "policy.json"), "--ledger", f"sqlite:///{tmp_path}/ledger.db")
    tsgrad(monkeypatch, *command)
    assert served["tokens"] == ("chosen", "other")
    monkeypatch.setenv("TSGRAD_TOKEN", "two\nlines")
    assert tsgrad(monkeypatch, *command) == 2
    assert "TSGRAD_TOKEN must be a text in one line" in capsys.readouterr().err


def test_a_ledger_without_a_decision_of_a_reward_is_one_line(folder, tmp_path, monkeypatch, capsys):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    play(Experiment(read_artefact(folder / "policy.json"), ledger), 1)
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM tsgrad_events WHERE number = 2")
    ledger.close()
    assert tsgrad(monkeypatch, "ledger", "export", str(ledger.url), "--out", tmp_path / "log.csv") == 2
    told = capsys.readouterr().err
    assert "the decision of event 7 is missing" in told
    assert "Traceback" not in told


@pytest.mark.long
def test_retuning_replaces_a_policy_only_by_a_better_one(tmp_path):
    """From a policy that was hardly trained; whatever comes of it, files say what was decided. Conditions stay those of
    the run, and arms are called what the ledger calls them: they had no names when the run was trained. Stopped before
    its end, the same call leaves the same files.
    """
    problem = tg.BernoulliBandit(alpha=1.0, beta=3.0, arms=4)
    short = {"episodes": 256, "iterations": 20, "validation_episodes": 2048, "seed": 0}
    conditions = tg.Conditions(available=[[1, 40], [1, 40], [1, 40], [5, 40]])
    trained(tmp_path / "first", problem, conditions=conditions)
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    play(Experiment(read_artefact(tmp_path / "first.json"), ledger), 40)
    retuned = functools.partial(tg.retune, tmp_path / "first", ledger, out=tmp_path / "second", episodes=1024)
    found = retuned(training=short)
    whole = {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    for name in ("retuned.md", "next.json", "result.json"):
        (tmp_path / "second" / name).unlink(missing_ok=True)
    with pytest.raises(tg.BadInput, match="holds a run with other settings"):
        retuned(training={**short, "seed": 1})
    retuned(training=short)
    assert {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()} == whole
    with pytest.raises(tg.BadInput, match="holds another run"):
        retuned(training=short)
    ledger.close()
    assert found.replaces == (tmp_path / "second" / "next.json").exists()
    assert "deployed" in (tmp_path / "second" / "retuned.md").read_text()
    assert found.run.conditions.table == conditions.table
    if found.replaces:
        following = read_artefact(tmp_path / "second" / "next.json")
        assert len(following.content["lineage"]) == 2  # the ledger's policy was trained, too
        assert following.arms == ("a", "b", "c", "d")
        assert following.content["conditions"] == conditions.table


def test_retuning_says_what_it_gains_on_recorded_arms_and_what_changed(deployed, tmp_path):
    """The gain is that of the two policies in worlds of the posterior of these arms, each with its own prior. Rates of
    0.1 to 0.4 are what Beta(1, 3) expects: it stays.
    """
    ledger = Ledger(f"sqlite:///{deployed}/ledger.db")
    found = tg.retune(deployed / "run", ledger, out=tmp_path / "next", training=SHORT, episodes=128)
    table = exported(ledger)
    ledger.close()
    arms = np.array(["abcd".index(arm) for arm in table["arm"]])
    paid, pulls = np.bincount(arms, table["reward"], minlength=4), np.bincount(arms, minlength=4)
    truth = tg.BernoulliBandit(alpha=1.0 + paid, beta=3.0 + pulls - paid)
    regrets = [
        tg.simulate(
            tg.Misspecified(truth=truth, model=run.problem), run.policy, horizon=40, episodes=128, seed=1
        ).regret
        for run in (found.before, found.run)
    ]
    assert found.prior_stands
    assert found.recorded_gain.value == pytest.approx(np.mean(regrets[0] - regrets[1]), abs=1e-6)
    page = (tmp_path / "next" / "retuned.md").read_text()
    assert str(found.recorded_gain) in page
    assert "alpha 1 as before, beta 3 as before." in page
    assert "and in the policy: " in page
    wrong = {"arm": ["a", "b"] * 50, "reward": [0, 1] * 50, "propensity": [0.9] * 100}
    doubtful = found._replace(equal_shares=tg.evaluate_log(wrong, target={"a": 0.5, "b": 0.5}))
    doubts = doubtful.equal_shares.warnings
    assert len(doubts) == 2
    assert doubtful.decided.endswith(" ".join(doubts))
    assert set(doubts) <= {concern.text for concern in retuning_report(doubtful).concerns}


def test_a_young_ledger_can_not_tell_yet(deployed, tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    one = Experiment(read_artefact(deployed / "run.json"), ledger)
    show_all(one, 3, dict.fromkeys("abcd", 0.0))
    with pytest.raises(tg.BadInput, match=r"can't tell yet: .*keep the deployed policy until it holds more"):
        tg.retune(deployed / "run", ledger, out=tmp_path / "next", training=SHORT, episodes=128)
    ledger.close()
    assert not (tmp_path / "next").exists()


def test_a_loss_on_recorded_arms_keeps_the_deployed_policy(deployed, tmp_path, monkeypatch):
    """The new policy is made to gain everywhere; then everywhere but on the recorded arms, whose priors differ."""
    real, order = retuning.compare, []

    def compared(problem, policies, **options):
        found = real(problem, policies, **options)
        order.append(problem.truth)
        if len(order) % 2:  # the deployed policy plays first
            return found
        here = isinstance(problem.truth, tg.BernoulliBandit) and np.ptp(problem.truth.alpha) > 0
        return found._replace(
            regrets={name: one + (1 if here and loses else -1) for name, one in found.regrets.items()}
        )

    loses = False
    ledger = Ledger(f"sqlite:///{deployed}/ledger.db")
    monkeypatch.setattr(retuning, "compare", compared)
    kept = tg.retune(deployed / "run", ledger, out=tmp_path / "gains", training=SHORT, episodes=128)
    loses = True
    lost = tg.retune(deployed / "run", ledger, out=tmp_path / "loses", training=SHORT, episodes=128)
    ledger.close()
    assert kept.replaces
    assert not lost.replaces
    assert lost.uncertain_gain == kept.uncertain_gain
    assert not (tmp_path / "loses" / "next.json").exists()
    assert "a loss." in str(lost)


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """A run that was trained for rare clicks."""
    made = tmp_path_factory.mktemp("rare")
    trained(made / "run", tg.BernoulliBandit(alpha=2.0, beta=98.0, arms=4))
    return made


def test_a_ledger_of_few_arms_keeps_a_prior_that_it_agrees_with(rare, tmp_path):
    """Arms from the deployed prior, as it is: a policy for the prior that fits these four best would be worse."""
    rates = dict(zip("abcd", np.random.default_rng(0).beta(2.0, 98.0, 4), strict=True))
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    show_all(Experiment(read_artefact(rare / "run.json"), ledger), 25, rates)
    found = tg.retune(rare / "run", ledger, out=tmp_path / "next", training=SHORT, episodes=256)
    ledger.close()
    np.testing.assert_array_equal(found.run.problem.model.alpha, 2.0)
    assert "does not contradict the deployed prior" in str(found)


def test_a_ledger_that_contradicts_the_prior_brings_a_better_one(rare, tmp_path):
    """Rates twenty times as high as was assumed: the new prior is a gain by itself, whatever was trained."""
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    show_all(
        Experiment(read_artefact(rare / "run.json"), ledger), 50, dict(zip("abcd", [0.2, 0.3, 0.5, 0.7], strict=True))
    )
    found = tg.retune(rare / "run", ledger, out=tmp_path / "next", training=SHORT, episodes=1024)
    ledger.close()
    assert found.departure == 0.005
    assert found.gain.sure
    assert found.replaces
    assert "rejects the deployed prior" in str(found)


def test_the_page_says_what_to_deploy_and_why(deployed, tmp_path, monkeypatch, capsys):
    arguments = ("retune", deployed / "run", "--ledger", f"sqlite:///{deployed}/ledger.db", "--out", tmp_path / "next")
    code = tsgrad(monkeypatch, *arguments, "--iterations", 1, "--episodes", 64)
    printed = capsys.readouterr().out
    page = (tmp_path / "next" / "retuned.html").read_text()
    assert f"Report: {tmp_path / 'next' / 'retuned.html'}" in printed
    assert ("Keep the deployed policy" if code else "Deploy the new policy") in page
    for words in (
        "The ledger does not contradict the deployed prior",
        "playing all arms equally often would have earned",
        "On the arms of the ledger, as far as it tells",
        "fitted to the ledger alone",
        "Meta-parameters, before and after",
    ):
        assert words in page
    assert "<svg" in page


def test_robustness_writes_its_picture(deployed, monkeypatch, capsys):
    found = Robustness([Kept("As assumed", 10.0, 3.0, 0.2), Kept("Rewards late", 10.0, 1.0, 0.2, 0.3)])
    monkeypatch.setattr("tsgrad.live.robustness", lambda *_, **__: found)
    assert not tsgrad(monkeypatch, "robustness", deployed / "run")
    assert "In none of 1 scenarios" in capsys.readouterr().out
    assert (deployed / "run" / "figures" / "robustness.png").read_bytes().startswith(b"\x89PNG")


def test_retuning_refuses_arms_with_priors_of_their_own(deployed, tmp_path):
    ledger = Ledger(f"sqlite:///{deployed}/ledger.db")
    trained(tmp_path / "run", tg.BernoulliBandit(alpha=1.0, beta=[1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(tg.BadInput, match=r"one beta for all arms.* got 1 to 4"):
        tg.retune(tmp_path / "run", ledger, out=tmp_path / "next", training=SHORT)
    ledger.close()


def test_retuning_refuses_the_run_of_another_policy(deployed, folder, tmp_path):
    ledger = Ledger(f"sqlite:///{folder}/ledger.db")
    with pytest.raises(tg.BadInput, match="not the run of the policy that decided last"):
        tg.retune(deployed / "run", ledger, out=tmp_path / "next", training=SHORT)
    ledger.close()


@pytest.mark.parametrize(
    ("event", "word"),
    [
        (Event("arm", 3.0, arm="e", parameters={}), "'e' was added"),
        (Event("withdrawal", 3.0, arm="b"), "'b' was withd"),
    ],
)
def test_retuning_refuses_arms_that_came_or_went(deployed, tmp_path, event, word):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    experiment = Experiment(read_artefact(deployed / "run.json"), ledger)
    play(experiment, 2)
    experiment.append([event])
    with pytest.raises(tg.BadInput, match=word):
        tg.retune(deployed / "run", ledger, out=tmp_path / "next", training=SHORT)
    ledger.close()
