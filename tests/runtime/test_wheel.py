"""The distribution: its wheel needs NumPy alone, and plays a policy in an environment that has nothing else."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "runtime"
PLAY = """
import sys, time
began = time.perf_counter()
import numpy
numpy_took = time.perf_counter() - began
from tsgrad_runtime import Agent
agent = Agent.load(sys.argv[1], seed=0)
decision = agent.decide()
agent.reward(decision.id, 1)
others = {name.partition(".")[0] for name in sys.modules} & {"jax", "scipy", "tsgrad", "sqlalchemy", "starlette"}
print(decision.arm, round(decision.propensity, 6), sorted(others))
"""


@pytest.mark.long
def test_the_wheel_plays_with_numpy_alone(tmp_path):
    def run(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path, RUNTIME)
    (wheel,) = tmp_path.glob("tsgrad_runtime-*.whl")
    environment = tmp_path / "empty"
    venv.create(environment, with_pip=False)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(*pip, "--python", str(python), "install", wheel)
    listed = run(*pip[:3], "--python", str(python), "list", "--format", "json")
    installed = json.loads(listed)
    assert {package["name"] for package in installed} == {"numpy", "tsgrad-runtime"}
    from tsgrad_runtime.files import write_json

    problem = {"kind": "bernoulli", "alpha": [1.0, 1.0], "beta": [1.0, 1.0]}
    content = {"policy": {"kind": "thompson"}, "problem": problem, "horizon": 10, "arms": ["red", "blue"]}
    write_json(tmp_path / "policy.json", "policy", content, version="1")
    assert run(str(python), "-c", PLAY, tmp_path / "policy.json").split(maxsplit=2)[1:] == ["0.5", "[]\n"]
