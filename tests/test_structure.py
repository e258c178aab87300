"""What the design promises of the code itself: who may know whom, and how far a gradient is from call to update."""

import ast
import sys
from pathlib import Path

import jax
import pytest

import tsgrad as tg
from tsgrad import problems
from tsgrad.training import trainer

SOURCE = Path(tg.__file__).parent
CONCRETE = {name for name in problems.__all__ if name.endswith("Bandit")}
REGISTRY_OF_KERNELS = SOURCE / "native" / "kernels.py"


def test_nobody_asks_for_the_class_of_a_problem():
    """General code asks a problem what it offers: no `isinstance` on a concrete problem outside its own file."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if path == REGISTRY_OF_KERNELS or path.parent == SOURCE / "problems":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in {"isinstance", "issubclass"}:
                names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
                found += [f"{path.name}:{node.lineno} {name}" for name in names & CONCRETE]
    assert not found


EVERY_WALK = {
    "training/trainer.py",
    "training/optimizer.py",
    "estimate/gradient.py",
    "simulation/engines.py",
    "simulation/workload.py",
    "policies/reshaped.py",
}
WALKS = {
    "native": EVERY_WALK | {"native/kernels.py"},
    "jax": EVERY_WALK
    | {
        "streams.py",
        "laws/normal.py",
        "problems/gaussian.py",
        "simulation/instance.py",
        "simulation/rollout.py",
        "simulation/step.py",
        "estimate/metrics_and_baselines.py",
        "estimate/score.py",
    },
}


@pytest.mark.formulas
@pytest.mark.parametrize(("engine", "most"), [("jax", 18), ("native", 12)])
def test_a_gradient_is_few_files_from_call_to_update(engine, most, monkeypatch):
    """The files whose code runs in one iteration of training, from its gradient to the update."""
    problem = tg.GaussianBandit(arms=3)
    seen = set()
    iterate = trainer.Trainer._iterate

    def watched(self, state):
        # What was compiled before, by other tests or by the trial of the optimizer, would run without being seen.
        jax.clear_caches()
        sys.setprofile(lambda frame, event, _: event == "call" and seen.add(frame.f_code.co_filename))
        try:
            return iterate(self, state)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(trainer.Trainer, "_iterate", watched)
    monkeypatch.setattr(trainer.Trainer, "_is_checked", lambda self, iteration: False)  # validation is another walk
    tg.train(
        problem,
        tg.ReshapedThompson(problem),
        tg.Estimator("mean", "self"),
        horizon=4,
        episodes=256,
        iterations=1,
        validation_episodes=256,
        engine=engine,
    )
    files = {Path(name).relative_to(SOURCE).as_posix() for name in seen if Path(name).is_relative_to(SOURCE)}
    assert files >= WALKS[engine]
    assert len(files) <= most, sorted(files)
