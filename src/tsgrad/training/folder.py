"""The folder of a run: configuration, history, checkpoint, results. Every file appears whole, by rename."""

import dataclasses
import functools
import hashlib
import io
import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import pydantic

from tsgrad.arrays import FloatArray
from tsgrad.artefact import DAMAGED_ARCHIVE, TEMPORARY, Taken, read_json, write_json, write_text, write_whole
from tsgrad.checks import BadInput
from tsgrad.evaluate import Comparison
from tsgrad.policies import load
from tsgrad.simulation import policy_content
from tsgrad.training.configuration import Configuration, configuration_toml, read_configuration
from tsgrad.training.run import HistoryRow, Run

WARM_UP = "warm-up-"  # begins the names of folders of shorter runs; their horizon follows


class State(NamedTuple):
    """All that the next iteration needs: where training stands after `iteration` updates."""

    iteration: int
    vector: FloatArray  # [P]
    optimizer: Any  # optax's
    best_vector: FloatArray  # [P], the best on validation episodes so far
    best_regret: float
    round_vector: FloatArray  # [P], the best at the end of the last round
    finite_vector: FloatArray  # [P], the last whose gradient was finite
    taken_back: int  # steps in a row


Finite = Annotated[float, pydantic.Field(strict=True, allow_inf_nan=False)]


class Found(pydantic.BaseModel):
    """What `result.json` says of a finished run."""

    chosen: Annotated[str, pydantic.Field(strict=True)]
    iterations: Annotated[int, pydantic.Field(strict=True, ge=0)]
    gain: Finite
    gain_standard_error: Finite
    left_out: dict[str, str]
    comparison: dict[str, Any]


SECONDS = pydantic.TypeAdapter(dict[str, Finite])


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """Reads and writes a run's files."""

    path: Path

    @property
    def _taken(self) -> BadInput:
        return BadInput(
            f"out: {self.path} holds another run: continue it with 'tsgrad resume {self.path}',"
            " or choose another folder"
        )

    def check_free(self) -> None:
        """Raises BadInput unless the folder is empty, or not there."""
        if self.path.exists() and not self.path.is_dir():
            raise BadInput(f"out must be a folder, got the file {self.path}")
        if self.is_started:
            raise self._taken
        if self.path.exists() and any(not entry.name.endswith(TEMPORARY) for entry in self.path.iterdir()):
            raise BadInput(f"out: {self.path} is not empty: choose another folder")

    def start(self, configuration: Configuration, provenance: dict[str, Any]) -> None:
        """Claims an empty folder for a run."""
        self.check_free()
        made_by = f"# tsgrad {provenance['version']}, {provenance['engine']} engine, seed {provenance['seed']}"
        try:
            # Of runs that start at the same time, one makes the file, and the folder is its own from then on.
            write_text(self.path / "config.toml", f"{made_by}\n\n{configuration_toml(configuration)}", new=True)
        except Taken:
            raise self._taken from None
        self.clean()

    def clean(self) -> None:
        """Removes what a killed process left half-written."""
        for leftover in self.path.glob(f".*{TEMPORARY}"):
            leftover.unlink(missing_ok=True)

    def warm_up(self, horizon: int) -> "RunFolder":
        """The folder of the run at a shorter horizon that this one goes on from, within its own."""
        return RunFolder(self.path / f"{WARM_UP}{horizon}")

    def warm_ups(self) -> tuple[Run, ...]:
        """The runs at shorter horizons that this one goes on from."""
        shorter = [self.warm_up(settings.horizon) for settings in self.configuration().training.of_warm_up()]
        return tuple(folder.run() for folder in shorter)

    @property
    def is_started(self) -> bool:
        """Whether there is a run in it."""
        return (self.path / "config.toml").exists()

    def configuration(self) -> Configuration:
        """What the run was started with."""
        if not self.is_started:
            raise BadInput(f"{self.path} holds no run: there is no config.toml in it")
        return read_configuration(self.path / "config.toml")

    @property
    def is_fresh(self) -> bool:
        """Whether there is no checkpoint yet. A run killed while writing its first has a history of one row."""
        names = {path.name for path in self.path.iterdir()}
        if not {name for name in names if not name.startswith(WARM_UP)} <= {"config.toml", "history.jsonl"}:
            return False
        return "history.jsonl" not in names or len((self.path / "history.jsonl").read_bytes().splitlines()) <= 2

    def save(self, state: State, history: list[HistoryRow], provenance: dict[str, Any]) -> None:
        """Writes history and checkpoint; the checkpoint last, because it is what a resumed run starts from."""
        self._write_history(history[: state.iteration], provenance)
        leaves = {f"optimizer_{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state.optimizer))}
        arrays = {**state._asdict(), **leaves, "provenance": json.dumps(provenance), "run": self.fingerprint}
        del arrays["optimizer"]
        write_whole(self.path / "checkpoint.npz", lambda file: np.savez(file, **arrays))

    def load(self, optimizer: Any) -> tuple[State, list[HistoryRow]]:
        """Reads history and checkpoint; `optimizer` is a state of the same optimizer, for its structure."""
        path = self.path / "checkpoint.npz"
        if not path.exists():
            raise BadInput(f"{path} is missing: delete {self.path} and train again")
        leaves, structure = jax.tree.flatten(optimizer)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                if str(arrays["run"]) != self.fingerprint:
                    raise BadInput(f"{path} is of a run with another config.toml: undo what was changed there")
                restored = [arrays[f"optimizer_{i}"] for i in range(len(leaves))]
                state = State(
                    iteration=int(arrays["iteration"]),
                    vector=arrays["vector"],
                    optimizer=jax.tree.unflatten(structure, restored),
                    best_vector=arrays["best_vector"],
                    best_regret=float(arrays["best_regret"]),
                    round_vector=arrays["round_vector"],
                    finite_vector=arrays["finite_vector"],
                    taken_back=int(arrays["taken_back"]),
                )
        except BadInput:
            raise
        except DAMAGED_ARCHIVE:
            raise BadInput(f"{path} is damaged: delete {self.path} and train again") from None
        return state, self._history(state.iteration)

    def finish(self, run: Run) -> None:
        """Writes what the run found."""
        self._write_history(run.history, run.provenance)
        for name, policy in (("last.json", run.last), ("trained.json", run.trained)):
            content = policy_content(policy, run.problem, run.provenance["horizon"], conditions=run.conditions)
            write_json(self.path / name, "policy", {**run.provenance, **content})
        # Not with `run.save`: a run that is for simulation alone must be there to be compared.
        write_json(self.path / "policy.json", "policy", run.content())
        write_json(
            self.path / "result.json",
            "result",
            {
                **run.provenance,
                "run": self.fingerprint,
                "chosen": run.chosen,
                "iterations": len(run.history) - 1,
                "gain": run.gain,
                "gain_standard_error": run.gain_standard_error,
                "left_out": run.left_out,
                "comparison": run.comparison.data(),
            },
        )

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end: the result is written last."""
        return (self.path / "result.json").exists()

    def run(self) -> Run:
        """A finished run, as training gave it back."""
        configuration = self.configuration()
        if not self.is_finished:
            raise BadInput(f"{self.path} holds no finished run: finish it with 'tsgrad resume {self.path}'")
        result = read_json(self.path / "result.json", "result")
        problem = configuration.build_problem()
        try:
            found = Found(**{name: result.pop(name) for name in Found.model_fields})
            comparison = Comparison.from_data(found.comparison)
        except (KeyError, BadInput, pydantic.ValidationError):
            remedy = f"delete it, and finish the run with 'tsgrad resume {self.path}'"
            raise BadInput(f"{self.path / 'result.json'} is damaged: {remedy}") from None
        if result.pop("run", None) != self.fingerprint:
            raise BadInput(
                f"{self.path / 'result.json'} is of a run with another config.toml: undo what was changed there"
            )
        return Run(
            policy=load(self.path / "policy.json").policy,
            chosen=found.chosen,
            trained=load(self.path / "trained.json").policy,
            last=load(self.path / "last.json").policy,
            start=configuration.build_policy(problem),
            history=self._history(found.iterations + 1),
            gain=found.gain,
            gain_standard_error=found.gain_standard_error,
            comparison=comparison,
            left_out=found.left_out,
            provenance={name: value for name, value in result.items() if name not in {"tsgrad", "format"}},
            problem=problem,
            conditions=configuration.build_conditions(),
            warm_up=self.warm_ups(),
        )

    @functools.cached_property
    def fingerprint(self) -> str:
        """What tells this run's configuration from another's."""
        return hashlib.sha256(configuration_toml(self.configuration()).encode()).hexdigest()

    def _write_history(self, history: list[HistoryRow], provenance: dict[str, Any]) -> None:
        rows = "".join(json.dumps(row._asdict()) + "\n" for row in history)
        head = {**provenance, "run": self.fingerprint, "sha256": hashlib.sha256(rows.encode()).hexdigest()}
        write_text(self.path / "history.jsonl", f"{json.dumps(head)}\n{rows}")

    def _history(self, iterations: int) -> list[HistoryRow]:
        path = self.path / "history.jsonl"
        try:
            head, _, rows = path.read_text(encoding="utf-8").partition("\n")
            told = json.loads(head)
            if told["run"] != self.fingerprint:
                raise BadInput(f"{path} is of another run: put back its own, or delete {self.path} and train again")
            if told["sha256"] != hashlib.sha256(rows.encode()).hexdigest():
                raise ValueError
            history = [HistoryRow(**json.loads(line)) for line in rows.splitlines()[:iterations]]
        except BadInput:
            raise
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            raise BadInput(f"{path} is missing or damaged: delete {self.path} and train again") from None
        if len(history) < iterations:
            raise BadInput(f"{path} ends before its checkpoint: delete {self.path} and train again")
        return history


def read_seconds(folder: str | Path) -> dict[str, float]:
    """How long each part of what is in a folder took, by its name, from `timing.json`; empty where there is none."""
    path = Path(folder) / "timing.json"
    if not path.exists():
        return {}
    try:
        return SECONDS.validate_json(path.read_bytes())
    except (OSError, pydantic.ValidationError):
        raise BadInput(f"{path} is damaged: delete it, nothing but times is in it") from None


def add_seconds(folder: str | Path, part: str, seconds: float) -> None:
    """Adds to what a part took; `timing.json` is the only file that depends on the clock."""
    known = read_seconds(folder)
    total = {**known, part: round(known.get(part, 0.0) + seconds, 3)}
    write_text(Path(folder) / "timing.json", json.dumps(total, indent=1) + "\n")
