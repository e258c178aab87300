"""Who computes never changes a bit: threads, JAX devices, processes of a Ray cluster, with and without accidents."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import tsgrad as tg
from bits import POLICY, PROBLEM, digests, found, training
from ray_processes import own_workers
from tsgrad.cli.workers import named_workers
from tsgrad.simulation import all_workers, ray_workers, simulation_engine

ENGINES = ["native", "jax"]

# JAX warns of the forks by which Ray starts its own programs.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")


@pytest.fixture(scope="module")
def here():
    """What this process finds by itself, engine by engine."""
    return {engine: digests(engine, tg.LocalWorkers()) for engine in ENGINES}


@pytest.fixture(scope="module")
def ray():
    """One cluster for all tests, of two nodes on this machine with two workers each, on ports of their own."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        cluster.add_node(num_cpus=2)
        tg.RayWorkers(cluster.address)
        yield ray
        ray.shutdown()
        cluster.shutdown()


def elsewhere(engines, *, devices=1, processors=None):
    """What another process finds, with so many JAX devices and processors."""
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count={devices}"
    limit = {} if processors is None else {"OMP_NUM_THREADS": str(processors), "NPROC": str(processors)}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("bits.py")), *engines],
        env={**os.environ, "XLA_FLAGS": flags, **limit},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.long
def test_devices(here):
    """Three, to which four blocks can't be dealt evenly."""
    assert elsewhere(["jax"], devices=3) == {"jax": here["jax"]}


@pytest.mark.long
@pytest.mark.parametrize("processors", [1, 2])
def test_threads(here, processors):
    assert elsewhere(ENGINES, processors=processors) == here


@pytest.mark.long
@pytest.mark.parametrize(("engine", "count"), [("native", 1), ("jax", 2), ("native", 4), ("jax", 4)])
def test_ray_of_any_size(ray, here, engine, count):
    assert digests(engine, tg.RayWorkers(count=count)) == here[engine]


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_workers_that_are_killed_cost_nothing_but_time(ray, here):
    """One is killed in the middle of each of two iterations, give or take."""
    killed = []

    def kill(iteration):
        if iteration in (10, 30):
            killed.append(own_workers()[0])
            threading.Timer(0.005, os.kill, (killed[-1], signal.SIGKILL)).start()

    assert training("native", tg.RayWorkers(count=2), progress=kill) == here["native"]["train"]
    assert len(set(killed)) == 2


@pytest.mark.long
def test_a_head_that_is_killed_leaves_a_run_that_goes_on_without_ray(tmp_path, ray, here):
    """The program that trains is killed, and with it the Ray that it started."""
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import tsgrad as tg
from bits import training
training("native", tg.RayWorkers(count=1), out={str(tmp_path / "run")!r},
         progress=lambda iteration: iteration == 25 and os.kill(os.getpid(), signal.SIGKILL))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    assert found(tg.resume(tmp_path / "run")) == here["native"]["train"]


def test_what_a_worker_finds_wrong_is_told_as_here(ray):
    """As where a worker has not the engine that was chosen here."""
    engine = simulation_engine(PROBLEM, POLICY)
    wrong = partial(simulation_engine, PROBLEM, tg.TopTwoThompson(), engine="native")
    workload = tg.Workload(horizon=4, episodes=512, seed=0, purpose=tg.Purpose.EVALUATION)
    with pytest.raises(tg.BadInput, match=r"^engine 'native' can't run this"):
        list(tg.RayWorkers(count=1).spread(engine, wrong).blocks(POLICY, workload))


def test_whole_pieces_of_work(ray):
    assert sorted(tg.RayWorkers(count=2).each(abs, [-1, 2, -3])) == [(0, 1), (1, 2), (2, 3)]


def test_addresses_that_lead_nowhere(monkeypatch):
    def init(address, **options):
        raise ConnectionError("nobody answers\nfor this reason")

    stand_in = SimpleNamespace(is_initialized=lambda: False, init=init)
    monkeypatch.setattr(ray_workers, "_ray", lambda: stand_in)
    with pytest.raises(tg.BadInput, match="address 'here:1' leads to no Ray cluster: nobody answers"):
        tg.RayWorkers("here:1")


def test_without_ray(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(tg.BadInput, match=r'not installed: pip install "tsgrad\[ray\]"'):
        tg.RayWorkers()
    assert [report.available for report in all_workers()] == [True, False]


@pytest.mark.parametrize("name", ["", "ray:", "roy", "local:1"])
def test_names_of_workers_are_checked(name):
    with pytest.raises(tg.BadInput, match="workers must be local, ray"):
        named_workers(name)
