"""What the design promises of the code itself: who may know whom, and how far a gradient is from call to update."""

import ast
import inspect
import sys
from pathlib import Path

import jax
import pytest

import tsgrad as tg
from tsgrad import policies, problems
from tsgrad.training import trainer

SOURCE = Path(tg.__file__).parent
REGISTRY_OF_KERNELS = "native/kernels.py"


def concrete(folder, base):
    """The names of the classes of a folder that can be made."""
    offered = {name: getattr(folder, name) for name in folder.__all__}
    return {name for name, one in offered.items() if inspect.isclass(one) and issubclass(one, base)} - {
        name for name, one in offered.items() if inspect.isabstract(one)
    }


PROBLEMS, POLICIES = concrete(problems, tg.Problem), concrete(policies, tg.Policy)


def class_tests(tree):
    """(line, names) wherever code asks for a class: `isinstance`, `issubclass`, `type(...) is`, a pattern; and
    (line, names) wherever a function is registered for one.
    """
    asked, registered = [], []
    for node in ast.walk(tree):
        decorators = getattr(node, "decorator_list", [])
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in {"isinstance", "issubclass"}:
            asked.append((node.lineno, names_in(node.args[1])))
        elif isinstance(node, ast.Compare) and "type" in names_in(node.left):
            asked.append((node.lineno, names_in(node)))
        elif isinstance(node, ast.MatchClass):
            asked.append((node.lineno, names_in(node.cls)))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "register":
            registered.append((node.lineno, names_in(node)))
        elif any(getattr(one, "attr", None) == "register" for one in decorators):
            registered.append((node.lineno, names_in(node.args.args[0])))
    return asked, registered


def names_in(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def test_concrete_classes_are_known():
    assert {"GaussianBandit", "BallBandit", "DriftingArms"} <= PROBLEMS
    assert {"Thompson", "Bonus", "IndexPolicy", "Uniform"} <= POLICIES
    assert not {"FiniteArms", "TabledArms"} & PROBLEMS
    assert not {"SamplingPolicy", "Memoryless", "Rival"} & POLICIES


def test_nobody_asks_for_the_class_of_a_problem_or_a_policy():
    """General code asks them what they offer: no test on a concrete class outside its own folder, and no function that
    is registered for one. A policy that is made for a problem is registered for it, beside its own formulas.
    """
    found = set()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name == REGISTRY_OF_KERNELS:
            continue
        folder = name.partition("/")[0]
        others = {"problems": POLICIES, "policies": PROBLEMS}.get(folder, PROBLEMS | POLICIES)
        asked, registered = class_tests(ast.parse(path.read_text()))
        for line, names in asked:
            found |= {(name, one, line) for one in names & others}
        for line, names in registered if folder != "policies" else []:
            found |= {(name, one, line) for one in names & others}
    assert not found, sorted(found)


EVERY_WALK = {
    "training/trainer.py",
    "training/optimizer.py",
    "estimate/gradient_blocks.py",
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
