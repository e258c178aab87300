"""Damaged and mutated files: every reader gives what was written, or says BadInput; never anything else."""

import random
from pathlib import Path

import numpy as np
import platformdirs
import pytest
from fuzz_cases import SIZES, damaged, mutated

import tsgrad as tg
from tsgrad.artefact import write_json
from tsgrad.evaluate import RegretBound
from tsgrad.experiments import Reproduction
from tsgrad.experiments.parts import evaluate, evaluation_file, read_bound, read_evaluation
from tsgrad.experiments.plan import Plan
from tsgrad.policies.rivals.kept_table import kept_table
from tsgrad.registry import to_data
from tsgrad.training import RunFolder, read_configuration, read_seconds
from tsgrad.training.configuration import configuration_toml

CONFIGURATION = """
[problem]
kind = "gaussian"
prior_mean = [0.0, 0.5, -1.5]
prior_std = 1.0
noise_std = [0.1, 1.0, 4.0]

[policy]
kind = "reshaped"
shared = false

[estimator]
metric = "mean"
baseline = "self"
rollouts = 3

[training]
horizon = 20
episodes = 512
iterations = 40
learning_rate = { schedule = "cosine_decay_schedule", init_value = 0.1, decay_steps = 40 }
optimizer = { name = "adam", b2 = 0.99 }
clip_norm = 10.0
validation_episodes = 2048
seed = 1
"""


@pytest.mark.parametrize("size", SIZES)
def test_mutated_configurations(size, tmp_path):
    """300 and 2,700 of them: what is read can be built, written, and read again as the same."""
    path = tmp_path / "config.toml"
    read = 0
    for case in range(300 * size):
        rng = random.Random(f"{size} {case}")
        path.write_text(mutated(CONFIGURATION, rng), encoding="utf-8")
        try:
            configuration = read_configuration(path)
            problem = configuration.build_problem()
            configuration.build_policy(problem)
            configuration.estimator.build()
        except tg.BadInput:
            continue
        path.write_text(configuration_toml(configuration), encoding="utf-8")
        assert read_configuration(path) == configuration, case
        read += 1
    assert read > 10 * size  # mutations that matter to nobody


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Every kind of file that the library reads back, and how it is read: each reader gives plain data."""
    folder = tmp_path_factory.mktemp("files")
    problem = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])
    run = folder / "run"
    where = {"horizon": 5, "episodes": 256, "iterations": 3, "check_every": 1, "validation_episodes": 256}
    tg.train(problem, tg.ReshapedThompson(problem), tg.Estimator("mean", "oracle"), out=run, **where)
    (run / "timing.json").write_text('{\n "training": 1.25\n}\n')
    policies = {"plain": tg.Thompson(), "tuned": tg.load(run / "policy.json")}
    tg.compare(problem, policies, horizon=5, episodes=256, seed=0).to_json(folder / "comparison.json")
    Reproduction(folder / "many", setting="many", fraction=0.001)
    plan = Plan(name="many", fraction=0.001)
    evaluation = evaluation_file(folder / "many", "TS")
    evaluate(evaluation, tg.Thompson(), plan, lambda played: None)
    bound = RegretBound(5.4, 0.1, "V-Zero", 20, 256)
    write_json(folder / "many" / "bound.json", "bound", {"bound": bound._asdict()})

    def read_run(path):
        found = RunFolder(run).run()
        return [
            *(to_data(policy) for policy in (found.policy, found.last, found.start)),
            found.history,
            found.gain,
            found.provenance,
            to_data(found.problem),
        ]

    def read_checkpoint(path):
        state, history = RunFolder(run).load(start_of_optimizer(run))
        return [state.iteration, state.vector.tolist(), state.best_vector.tolist(), state.best_regret, history]

    def read_policy(path):
        saved = tg.load(path)
        return [to_data(saved.policy), to_data(saved.problem), saved.horizon]

    def read_played(path):
        played = read_evaluation(path, tg.Thompson(), plan)
        return None if played is None else [played.regret.tolist(), played.regret_over_time.tolist()]

    return {
        run / "config.toml": read_run,
        run / "history.jsonl": read_run,
        run / "result.json": read_run,
        run / "last.json": read_run,
        run / "policy.json": read_policy,
        run / "checkpoint.npz": read_checkpoint,
        run / "timing.json": read_seconds,
        folder / "comparison.json": lambda path: tg.Comparison.from_json(path).data(),
        folder / "many" / "plan.json": lambda path: Reproduction(path.parent, setting="many", resume=True).plan,
        folder / "many" / "bound.json": lambda path: read_bound(path.parent),
        evaluation: read_played,
    }


def start_of_optimizer(run):
    from tsgrad.training.optimizer import build_ascent

    used = RunFolder(run).configuration().training
    ascent = build_ascent(used.learning_rate, used.schedule, used.optimizer, used.clip_norm, iterations=used.iterations)
    width = len(RunFolder(run).run().history[0].meta_parameters) * 3
    return ascent.start(np.zeros(width))


@pytest.mark.parametrize("size", SIZES)
def test_damaged_files(size, files):
    """30 and 270 accidents each: BadInput, or what was written. A number in `timing.json`, which nothing depends on,
    may be another; an evaluation that can't be read is played again.
    """
    for path, read in files.items():
        content, whole = path.read_bytes(), read(path)
        try:
            for case in range(30 * size):
                path.write_bytes(damaged(content, random.Random(f"{path.name} {size} {case}")))
                try:
                    found = read(path)
                except tg.BadInput:
                    continue
                if path.name == "timing.json" or (found is None and path.suffix == ".npz"):
                    continue
                assert found == whole, (path.name, case)
        finally:
            path.write_bytes(content)


@pytest.mark.parametrize("size", SIZES)
def test_damaged_tables(size, tmp_path, monkeypatch):
    """100 and 900 accidents to a kept table: it is the same, kept or computed again."""
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: str(tmp_path))
    wanted = np.random.default_rng(0).standard_normal((9, 9))
    kept_table("some", 9, lambda steps: wanted, rank=2)
    path = Path(tmp_path) / "some.npz"
    content = path.read_bytes()
    for case in range(100 * size):
        path.write_bytes(damaged(content, random.Random(f"{size} {case}")))
        np.testing.assert_array_equal(kept_table("some", 9, lambda steps: wanted, rank=2), wanted)
