"""The command line, as a person would use it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib

import pytest

CONFIGURATION = """
[problem]
kind = "bernoulli"
arms = 3

[policy]
kind = "reshaped"
shared = true

[estimator]
metric = "mean"
baseline = "oracle"
score = "draw"

[training]
horizon = 10
episodes = 512
iterations = {iterations}
check_every = 10
validation_episodes = 2048
seed = 3
"""


def tsgrad(*arguments, **options):
    """A command, which takes longer to compile than to run."""
    return subprocess.run(
        [sys.executable, "-m", "tsgrad.cli", *map(str, arguments)],
        env={**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "config.toml").write_text(CONFIGURATION.format(iterations=30))
    result = tsgrad("train", folder / "config.toml", "--out", folder / "run")
    assert result.returncode == 0, result.stderr
    return folder, result


@pytest.mark.long
def test_train_under_conditions(tmp_path):
    # What a file says of the experiment reaches training, not only what it says of the problem.
    text = CONFIGURATION.format(iterations=2).replace('score = "draw"', "")
    (tmp_path / "week.toml").write_text(text + "\n[conditions]\nbatch = 25\nfloor = 0.1\n")
    result = tsgrad("train", tmp_path / "week.toml", "--out", tmp_path / "run", "--no-report")
    assert result.returncode == 0, result.stderr
    assert tomllib.loads((tmp_path / "run" / "config.toml").read_text())["conditions"] == {"batch": 25, "floor": 0.1}
    assert json.loads((tmp_path / "run" / "policy.json").read_text())["conditions"] == {"batch": 25, "floor": 0.1}


def test_train_says_what_cannot_be_served(tmp_path):
    text = CONFIGURATION.format(iterations=1).replace('score = "draw"', "")
    (tmp_path / "week.toml").write_text(text + '\n[conditions]\nbatch = 25\nallocation = "proportional"\n')
    result = tsgrad("train", tmp_path / "week.toml", "--out", tmp_path / "run", "--no-report")
    assert result.returncode == 0, result.stderr
    assert "It can be compared, but not served: policy file: conditions: allocation 'proportional'" in result.stderr


def test_train(trained):
    folder, result = trained
    assert "a paired gain of" in result.stdout
    assert "evidence_weight" in result.stdout
    names = {path.name for path in (folder / "run").iterdir()}
    results = {"policy.json", "trained.json", "last.json", "result.json", "report.html", "timing.json"}
    assert names == {"config.toml", "history.jsonl", "checkpoint.npz"} | results
    assert f"Report: {folder / 'run' / 'report.html'}" in result.stdout


def test_compare(trained):
    folder, _ = trained
    result = tsgrad("compare", folder / "run", folder / "run" / "last.json", "--episodes", 2000)
    assert result.returncode == 0, result.stderr
    assert "2,000 common episodes" in result.stdout
    assert "thompson" in result.stdout


def run_main(arguments, monkeypatch, capsys):
    """The command line in this process: exit code, output, errors."""
    from tsgrad.cli import main

    monkeypatch.setattr(sys, "argv", ["tsgrad", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code or 0, *capsys.readouterr()


def test_compare_writes_files(trained, tmp_path, monkeypatch, capsys):
    folder, _ = trained
    files = {kind: tmp_path / kind for kind in ("csv", "episodes-csv", "json", "latex")}
    options = [part for kind, path in files.items() for part in (f"--{kind}", path)]
    run = folder / "run"
    arguments = ["compare", run, "--episodes", 300, "--reference", run, "--bound", "FH", *options]
    code, output, _ = run_main(arguments, monkeypatch, capsys)
    assert code == 0
    assert "FH bound" in output
    assert files["csv"].read_text().splitlines()[1].startswith("thompson,")
    assert len(files["episodes-csv"].read_text().splitlines()) == 301
    assert f'"reference": "{run}"' in files["json"].read_text()
    assert r"\bottomrule" in files["latex"].read_text()


def test_compare_times_decisions_where_asked(trained, monkeypatch, capsys):
    folder, _ = trained
    arguments = ["compare", folder / "run", "--episodes", 256, "--bound", "none"]
    assert "µs" not in run_main(arguments, monkeypatch, capsys)[1]
    assert "µs" in run_main([*arguments, "--timing"], monkeypatch, capsys)[1]


def test_compare_to_a_precision(trained, monkeypatch, capsys):
    folder, _ = trained
    arguments = ["compare", folder / "run", "--episodes", 256, "--to-precision", 0.03, "--bound", "none"]
    code, output, _ = run_main(arguments, monkeypatch, capsys)
    assert code == 0
    assert "wanted ± 0.03, reached ± 0.0" in output
    assert "bound" not in output


def test_compare_says_what_was_trained_for_another_horizon(trained, tmp_path, monkeypatch, capsys):
    """On the terminal and in every file; policies without a kernel play beside a run of the native engine."""
    folder, _ = trained
    arguments = ["compare", folder / "run", "uniform", "--episodes", 256, "--bound", "none", "--horizon", 20]
    files = ["--csv", tmp_path / "a.csv", "--json", tmp_path / "a.json", "--latex", tmp_path / "a.tex"]
    code, output, _ = run_main([*arguments, *files], monkeypatch, capsys)
    assert code == 0
    assert "was trained for 10 steps, not for 20" in " ".join(output.split())
    assert "trained_for" in (tmp_path / "a.csv").read_text()
    assert "was trained for 10 steps" in (tmp_path / "a.tex").read_text()
    import tsgrad as tg

    kept = tg.Comparison.from_json(tmp_path / "a.json").policies
    assert [result.trained_for for result in kept.values()] == [None, 10, None]
    code, output, _ = run_main([*arguments, "--horizon", 10], monkeypatch, capsys)
    assert "was trained for" not in " ".join(output.split())


def test_a_reader_that_goes_away_costs_no_file(trained, tmp_path):
    """As in `tsgrad compare ... --csv x | head -1`."""
    folder, _ = trained
    command = [sys.executable, "-m", "tsgrad", "compare", str(folder / "run"), "--episodes", "256", "--bound", "none"]
    with subprocess.Popen(
        [*command, "--csv", str(tmp_path / "table.csv")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (1, "")
    assert (tmp_path / "table.csv").read_text().count("\n") == 3


@pytest.mark.parametrize("seconds", [0.7, 2.5])
def test_an_interrupt_of_a_comparison_ends_it_at_once(trained, seconds):
    """While it is imported, and while a policy that takes minutes is compiled or played."""
    folder, _ = trained
    rivals = ["uniform", "--episodes", "100000000", "--bound", "none"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tsgrad", "compare", str(folder / "run"), *rivals],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")


def test_compare_with_policies_by_name(trained, tmp_path, monkeypatch, capsys):
    """A kind with its options; what it doesn't know is named, with what it does."""
    import tsgrad as tg
    from tsgrad.cli.policies import named_policy

    folder, _ = trained
    policy = named_policy("reshaped-bernoulli:log_alpha=0.5,log_beta=0,log_evidence_weight=0,decay=1e-1")
    assert (float(policy.log_alpha), float(policy.decay)) == (0.5, 0.1)
    for name, message in {
        "tompson": r"policy must be one of .*thompson.*got 'tompson' \(did you mean 'thompson'\?\)",
        "thompson:x": r"policy must have options like 'kind:option=value', got 'thompson:x'",
        "index": r"policy 'index'.table is missing",
        str(tmp_path): "holds no finished run",
        "none.json": "none.json can't be read",
    }.items():
        with pytest.raises(tg.BadInput, match=message):
            named_policy(name)
    code, _, errors = run_main(["compare", folder / "run", "--reference", "x"], monkeypatch, capsys)
    assert (code, errors.count("\n")) == (2, 1)
    assert "reference must be one of thompson" in errors


def test_variance(trained, tmp_path, monkeypatch, capsys):
    folder, _ = trained
    arguments = ["variance", folder / "run", "mean/self", "obs/null", "--episodes", 512, "--out", tmp_path / "study"]
    code, output, _ = run_main(arguments, monkeypatch, capsys)
    assert code == 0
    assert re.search("Best buy: (mean/self; obs/null|obs/null; mean/self) comes next", output)
    assert {path.name for path in tmp_path.iterdir()} == {f"study.{ending}" for ending in ("csv", "png", "svg", "pdf")}
    code, _, errors = run_main(["variance", folder / "run", "mean/slef"], monkeypatch, capsys)
    assert (code, errors.count("\n")) == (2, 1)
    assert "did you mean 'mean/self'?" in errors


def test_variance_says_of_each_pair_why_it_is_left_out(tmp_path, monkeypatch, capsys):
    """A posterior that is an approximation rules pairs out however long one waits; look-aheads do so by their time."""
    import tsgrad.evaluate

    studied = []

    def study(problem, policy, estimators, *, horizon, **_):
        studied.extend(estimators)
        pairs = [tsgrad.evaluate.PairReport(name, "jax", 256, 1.0, 0.1, 1.0, 0.0, 0.1, 0.0) for name in estimators]
        return tsgrad.evaluate.VarianceStudy(tuple(pairs), "obs/null", 3.0, horizon, 0)

    monkeypatch.setattr(tsgrad.evaluate, "variance_study", study)
    path = tmp_path / "logistic.toml"
    path.write_text('[problem]\nkind = "logistic"\nfeatures = [[1.0], [-1.0]]\n\n[training]\nhorizon = 5000\n')
    code, output, _ = run_main(["variance", path], monkeypatch, capsys)
    assert code == 0
    left_out = {line.partition(": ")[0]: line.partition(": ")[2] for line in output.splitlines() if "Left out" in line}
    assert left_out == {
        "Left out, because they are not admissible here": "bayes/null bayes/oracle bayes/self bayes/value q/null"
        " q/oracle q/self q/value; name one to be told why.",
        "Left out, because their look-aheads take minutes": "obs/value mean/value; name them to have them.",
    }
    assert studied == ["obs/null", "obs/oracle", "obs/self", "mean/null", "mean/oracle", "mean/self"]
    monkeypatch.undo()
    code, _, errors = run_main(["variance", path, "bayes/null", "obs/null"], monkeypatch, capsys)
    assert (code, errors.count("\n")) == (2, 1)
    assert "relies on the posterior of LogisticBandit, which is an approximation" in errors


def test_version(monkeypatch, capsys):
    from importlib.metadata import version

    assert run_main(["--version"], monkeypatch, capsys) == (0, f"tsgrad {version('tsgrad')}\n", "")


def test_without_a_command_there_is_help_and_no_more(monkeypatch, capsys):
    code, output, errors = run_main([], monkeypatch, capsys)
    assert (code, errors) == (2, "")
    assert "compare" in output


def test_resume_of_a_complete_run(trained):
    folder, _ = trained
    assert "a paired gain of" in tsgrad("resume", folder / "run").stdout


def test_engines():
    result = tsgrad("engines")
    assert result.returncode == 0
    assert "jax" in result.stdout
    assert "local" in result.stdout


@pytest.mark.long
def test_sweep(tmp_path):
    text = CONFIGURATION.format(iterations=2) + '\n[axes]\n"training.horizon" = [5, 10]\n'
    (tmp_path / "sweep.toml").write_text(text)
    out = tmp_path / "sweep"
    result = tsgrad("sweep", tmp_path / "sweep.toml", "--out", out)
    assert result.returncode == 0, result.stderr
    assert "What training gains" in result.stdout
    assert {path.name for path in out.iterdir()} == {
        *("sweep.toml", "runs", "table.csv", "table.parquet", "report.html")
    }
    assert "holds a sweep" in tsgrad("sweep", tmp_path / "sweep.toml", "--out", out).stderr


def test_workers_that_nobody_knows(trained):
    folder, _ = trained
    result = tsgrad("resume", folder / "run", "--workers", "roy")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "tsgrad: workers must be local, ray, ray:auto or ray:HOST:PORT, got 'roy'\n"


def test_help_shows_an_example():
    assert "noise_std" in tsgrad("train", "--help").stdout
    assert tsgrad("--help").returncode == 0


def test_interrupt_leaves_a_run_that_resumes(tmp_path):
    (tmp_path / "config.toml").write_text(CONFIGURATION.format(iterations=100_000))
    process = subprocess.Popen(
        [sys.executable, "-m", "tsgrad.cli", "train", str(tmp_path / "config.toml"), "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "run" / "checkpoint.npz").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"Continue with: tsgrad resume {tmp_path / 'run'}" in errors
    assert "Traceback" not in errors
    shortened = (tmp_path / "run" / "checkpoint.npz").read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-m", "tsgrad.cli", "resume", str(tmp_path / "run")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while (tmp_path / "run" / "checkpoint.npz").read_bytes() == shortened:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors


BAD = {
    "an unknown key": ("seed = 3", "sead = 3", "a key of training must be one of .*'sead' .did you mean 'seed'"),
    "an unknown table": (
        "[estimator]",
        "[estimate]",
        "a key of the configuration must be one of .*did you mean 'estimator'",
    ),
    "an unknown problem": (
        'kind = "bernoulli"',
        'kind = "beroulli"',
        "problem.kind must be one of .*did you mean 'bernoulli'",
    ),
    "an unknown argument": (
        "arms = 3",
        "arm = 3",
        "a key of problem .kind 'bernoulli'. must be one of alpha, beta, arms, got 'arm'",
    ),
    "a bad number": ("arms = 3", "arms = 0", "arms must be an integer from 1 to 2147483647, got 0"),
    "a bad metric": ('metric = "mean"', 'metric = "main"', "metric must be one of .*did you mean 'mean'"),
    "an illegal pair": (
        'baseline = "oracle"',
        'baseline = "oracle"\nrollouts = 3',
        "rollouts must be left out with baseline 'oracle'",
    ),
    "horizon 0": ("horizon = 10", "horizon = 0", "training.horizon: input should be greater than or equal to 1, got 0"),
    "no horizon": ("horizon = 10", "", "training.horizon is missing"),
    "a wrong type": ("episodes = 512", 'episodes = "many"', "episodes must be a number, got 'many'"),
    "a number for a table": (
        '[problem]\nkind = "bernoulli"\narms = 3\n',
        "problem = 3\n",
        "problem must be a table, got 3",
    ),
    "deep nesting": ("arms = 3", "arms = " + "[" * 3000, "is not valid TOML"),
    "broken TOML": ("[training]", "[training", "is not valid TOML"),
    "a policy of no kind": (
        'kind = "reshaped"',
        'kind = "reshapd"',
        "policy.kind must be one of .*did you mean 'reshaped'",
    ),
    "no number": ("arms = 3", 'arms = 3\nalpha = ["1", "2", "3"]', "alpha must be a number or an array of numbers"),
    "policy options": ("shared = true", "shard = true", "must be one of shared, got 'shard'"),
}


def test_a_byte_order_mark_is_no_syntax_error(tmp_path):
    from tsgrad.training import read_configuration

    text = CONFIGURATION.format(iterations=5)
    for name, encoding in {"plain.toml": "utf-8", "marked.toml": "utf-8-sig"}.items():
        (tmp_path / name).write_text(text, encoding=encoding)
    assert read_configuration(tmp_path / "marked.toml") == read_configuration(tmp_path / "plain.toml")


@pytest.mark.parametrize(("old", "new", "message"), BAD.values(), ids=BAD)
def test_bad_configurations(old, new, message, tmp_path, monkeypatch, capsys):
    """One line on standard error, exit code 2, nothing written."""
    assert old in CONFIGURATION
    (tmp_path / "config.toml").write_text(CONFIGURATION.format(iterations=5).replace(old, new))
    code, _, errors = run_main(["train", tmp_path / "config.toml", "--out", tmp_path / "run"], monkeypatch, capsys)
    assert code == 2
    assert re.search(message, errors), errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "a.toml"], "--out"),
        (["compare", "a.toml", "--episodes", "abc"], "'--episodes': .* got 'abc' "),
        (["trian"], "trian"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, monkeypatch, capsys):
    code, _, errors = run_main(arguments, monkeypatch, capsys)
    assert (code, errors.count("\n")) == (2, 1)
    assert re.search(message, errors), errors


def test_an_out_folder_below_a_file(tmp_path):
    (tmp_path / "config.toml").write_text(CONFIGURATION.format(iterations=5))
    result = tsgrad("train", tmp_path / "config.toml", "--out", tmp_path / "config.toml" / "run")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "can't be written: Not a directory" in result.stderr


def test_a_missing_file_and_a_missing_folder(tmp_path):
    result = tsgrad("train", tmp_path / "none.toml", "--out", tmp_path / "run")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "can't be read: No such file" in result.stderr
    result = tsgrad("resume", tmp_path / "run")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "holds no run" in result.stderr
