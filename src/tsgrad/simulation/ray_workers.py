"""A Ray cluster as workers. Ray schedules, moves what is to be moved, and does again what a lost worker was to do."""

import functools
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from tsgrad.checks import BadInput, check_count
from tsgrad.native import processors
from tsgrad.simulation.engines import Engine, EngineReport
from tsgrad.simulation.workers import Found, Item, Workers
from tsgrad.simulation.workload import Workload

MOST_RETRIES = 16  # of a task whose worker was lost
MOST_BLOCKS = 64  # a task: what is lost with a worker, and how much comes back at once
ENGINES_KEPT = 16  # by a worker
THREADS = {"OMP_NUM_THREADS": "1", "NPROC": "1"}  # a worker is one core; the second is what XLA asks
COMPILER = ("JAX_", "XLA_")  # variables that say what is made of a program: workers must make the same of it


class RayWorkers(Workers):
    """Processes of a Ray cluster, one core each: `pip install "tsgrad[ray]"`.

    Args:
        address: of the cluster's head, as in "10.0.0.1:6379", or "auto" for the cluster that this machine is part of.
            Without it, Ray is started on this machine, for this process. A process that is already connected to Ray
            stays so.
        count: how many workers are busy at most; by default all cores of the cluster.

    Raises:
        BadInput: if there is no cluster at the address, or Ray is not installed.

    Problem, policy and estimator are sent to each worker once, the meta-parameters with every gradient; the results of
    blocks come back. If a worker is lost, Ray gives its task to another one: that costs time and nothing else.

        >>> RayWorkers(count=0)
        Traceback (most recent call last):
        tsgrad_runtime.checks.BadInput: count must be an integer >= 1, got 0

    """

    def __init__(self, address: str | None = None, *, count: int | None = None) -> None:
        if address is not None and not (isinstance(address, str) and address):
            raise BadInput(f"address must be 'auto', or host:port of a Ray cluster, or left out, got {address!r:.80}")
        asked = None if count is None else check_count("count", count, least=1)
        if address is None:
            _let_nobody_else_in()
        if not _ray().is_initialized():
            _connect(address, asked)
        self.count = asked or max(int(_ray().cluster_resources().get("CPU", 1)), 1)

    def spread(self, engine: Engine, build: Callable[[], Engine]) -> Engine:
        return _RayEngine(engine, build, self.count)

    def each(self, work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[tuple[int, Found]]:
        waiting = list(enumerate(items))[::-1]
        running: dict[Any, int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.count:
                    place, item = waiting.pop()
                    running[_task(_call).remote(work, item)] = place
                (done,), _ = _ray().wait(list(running))
                yield running.pop(done), _result(done)
        finally:
            for abandoned in running:
                _ray().cancel(abandoned)  # as Ctrl-C would: a training saves what it has


class _RayEngine(Engine):
    """An engine whose blocks are computed on a cluster, by engines like it."""

    def __init__(self, engine: Engine, build: Callable[[], Engine], count: int) -> None:
        self.name = engine.name
        self.count = count
        self.build = _ray().put(build)

    def blocks(self, policy: Any, workload: Workload) -> Iterator[Any]:
        parts = workload.in_parts(min(-(-len(workload.blocks) // self.count), MOST_BLOCKS))
        sent = _ray().put(policy)
        every: list[Any] = []
        running: list[Any] = []
        for part in parts:
            if len(running) == self.count:
                _, running = _ray().wait(running)
            every.append(_task(_blocks).remote([self.build], sent, part))
            running.append(every[-1])
        for task in every:
            yield from _result(task)


def _blocks(build: list[Any], policy: Any, workload: Workload) -> list[Any]:
    """On a worker: the blocks of a part. In a list, what builds the engine is a reference, to be fetched once."""
    return list(_engine(build[0]).blocks(policy, workload))


@functools.lru_cache(ENGINES_KEPT)
def _engine(build: Any) -> Engine:
    engine: Engine = _ray().get(build)()
    return engine


def _call(work: Callable[[Item], Found], item: Item) -> Found:
    """On a worker: a whole piece of work."""
    return work(item)


@functools.cache
def _task(function: Callable[..., Any]) -> Any:
    variables = {name: value for name, value in os.environ.items() if name.startswith(COMPILER)}
    environment = {"env_vars": {**variables, **THREADS}}
    return _ray().remote(function).options(num_cpus=1, max_retries=MOST_RETRIES, runtime_env=environment)


def _result(task: Any) -> Any:
    """What a task gave; what it raised is raised here as if it had been computed here."""
    ray = _ray()
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as failed:
        raise failed.cause from None


def _ray() -> Any:
    """Ray itself, which is an extra."""
    missing = why_no_ray()
    if missing is not None:
        raise BadInput(f"workers of Ray are {missing}")
    return importlib.import_module("ray")


def why_no_ray() -> str | None:
    """Why Ray can't be used here; None if it can."""
    if importlib.util.find_spec("ray") is None:
        return 'not installed: pip install "tsgrad[ray]"'
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray tells nobody that it is used
    return None


def all_workers() -> list[EngineReport]:
    """Who can compute here: a report of each, as `engines` gives them."""
    missing = why_no_ray()
    devices = len(jax.local_devices())
    local = f"threads of the native engine: {processors()}; JAX devices: {devices}"
    ray = missing or f"processes here or on a cluster, one core each; Ray {importlib.metadata.version('ray')}"
    return [EngineReport("local", True, local), EngineReport("ray", missing is None, ray)]


def _let_nobody_else_in() -> None:
    """Ray listens on every network that the machine is on: whoever connects must know a token, which is kept secret.
    Ray looks for it once, when it is imported; a program that has imported it already has decided on that itself.
    """
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _connect(address: str | None, count: int | None) -> None:
    """Joins a cluster, or starts one of this machine alone, which ends with this process."""
    init = functools.partial(_ray().init, log_to_driver=False, logging_level=logging.ERROR)
    if address is None:
        cores = processors() if count is None else count
        with warnings.catch_warnings():
            # JAX warns of every fork. Those of Ray become its own programs at once, and never come near JAX.
            warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called", category=RuntimeWarning)
            init("local", num_cpus=cores, include_dashboard=False)
        return
    try:
        init(address)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise BadInput(f"address {address!r:.80} leads to no Ray cluster: {reason:.200}") from None
