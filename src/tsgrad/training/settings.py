"""Settings of a training run, checked before anything runs. The same for Python and for TOML."""

import typing
from collections.abc import Mapping
from typing import Any, Literal, Required, TypedDict, TypeVar

import numpy as np
import pydantic

from tsgrad.checks import BadInput, check_choice
from tsgrad.estimate import Estimator, GradientName, ScoreName, described
from tsgrad.simulation import CHUNK, MOST_EPISODES, MOST_STEPS
from tsgrad.training.optimizer import MOST_PARAMETERS, check_named_call, is_natural, optimizers, schedules

NamedCall = str | dict[str, Any]
LONG_HORIZON = 200  # beyond, a start from a shorter horizon pays
SHORTER = 3  # times, a warm-up has fewer steps
FEWER = {"iterations": 2.5, "episodes": 2, "validation_episodes": 4}  # times, a warm-up has fewer of them
OF_BATCHES = {"episodes": 500, "validation_episodes": 8192}
_LEAST = {"iterations": 1, "episodes": 2, "validation_episodes": 2}

# What is not said depends on the optimizer. The natural gradient needs few, short iterations. Adam must forget small
# gradients soon (b2 = 0.99): as a policy comes to explore less, its gradient gets noisier, by orders of magnitude.
_ADAM: dict[str, Any] = {"name": "adam", "b2": 0.99}
_OTHER_RECIPE: dict[str, Any] = {
    "episodes": 2000,
    "iterations": 1000,
    "learning_rate": 0.05,
    "check_every": 50,
    "rounds": 1,
}


class Settings(pydantic.BaseModel):
    """A table of a configuration: its keys are known, and hold what they are meant to hold."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class EstimatorSettings(Settings):
    """The `[estimator]` table: what `tsgrad.Estimator` takes."""

    metric: str | dict[str, Any] = "mean"
    """the return credited to a rollout: a name, or a table with its `kind` and fields"""
    baseline: str | dict[str, Any] = "self"
    """what is subtracted from it: a name, or a table"""
    rollouts: int | None = None
    """per episode, for the baseline `self`; 2 unless given"""
    lookaheads: int | None = None
    """per step, for `q` and `value`; 8 unless given"""
    single_time: bool = False
    """whether to look at one random step per episode, times the horizon"""
    world: Literal["true", "posterior"] = "true"
    """the true parameters, or parameters redrawn from the final posterior"""
    score: ScoreName = "conditional"
    """the expected score given the arm played, or the score of the draw"""
    gradient: GradientName = "auto"
    """by scores, or through the episode itself (pathwise), for large batches"""

    @classmethod
    def of(cls, estimator: Estimator) -> "EstimatorSettings":
        """What describes an estimator; its metric and baseline must be registered."""
        return cls(
            metric=described(estimator.metric),
            baseline=described(estimator.baseline),
            rollouts=estimator.rollouts if estimator.baseline.compares_rollouts else None,
            single_time=estimator.single_time,
            world=estimator.world,
            score=estimator.score,
            gradient=estimator.gradient,
        )

    def build(self) -> Estimator:
        """The estimator that is described."""
        return Estimator(**self.model_dump())  # the fields are its arguments


class TrainingSettings(Settings):
    """The `[training]` table: what `tsgrad.train` takes.

    `learning_rate` is a number, from which `schedule` lets it fall to zero over the iterations ("cosine") or which it
    leaves as it is ("constant"); or a table that names an optax schedule and its arguments. `optimizer` is the name of
    an optax optimizer, or a table with its name and arguments.

    The defaults are one recipe for the natural gradient (`optimizer="natural"`), whose learning rate is the length of a
    step in the metric of the Fisher matrix. Policies with more than 500 meta-parameters are trained by Adam instead,
    with more and longer iterations, as they are with any other optimizer that is named. The paper's recipe is
    `schedule="constant"` and `optimizer="adam"`.

    `warm_up` is a shorter horizon: the policy is first trained there, with half of the episodes and two fifths of the
    iterations, and goes on from what that has found, which is nearer to the best policy of a long horizon than plain
    Thompson sampling is. Where the shorter horizon is long itself, beyond 200, it is warmed up for at a third of it,
    and so on. Where the policy is left out and the horizon is long, `warm_up` is a third of the horizon.
    """

    horizon: int = pydantic.Field(ge=1, le=MOST_STEPS)
    """steps of an episode"""
    warm_up: int | None = pydantic.Field(default=None, ge=1)
    """a shorter horizon to train on first"""
    episodes: int = pydantic.Field(default=1000, ge=2, le=MOST_EPISODES)
    """per iteration"""
    iterations: int = pydantic.Field(default=60, ge=1)
    """updates of the meta-parameters, in a round"""
    rounds: int = pydantic.Field(default=3, ge=1)
    """the most rounds; one follows while the last gained on validation episodes; 1 where iterations are given"""
    learning_rate: float | dict[str, Any] = 2.0
    """a number, or a table that names an optax schedule"""
    schedule: Literal["cosine", "constant"] | None = None
    """whether the learning rate falls to zero; cosine unless given"""
    optimizer: NamedCall = "natural"
    """the natural gradient, or an optax optimizer: its name, or a table"""
    clip_norm: float | None = pydantic.Field(default=None, gt=0)
    """the largest norm of a gradient"""
    seed: int = pydantic.Field(default=0, ge=0, lt=2**64)
    """of all randomness"""
    validation_episodes: int = pydantic.Field(default=16_384, ge=2, le=MOST_EPISODES)
    """on which the policy to return is selected"""
    check_every: int = pydantic.Field(default=10, ge=1)
    """iterations between two validations"""
    engine: Literal["auto", "jax", "native"] = "auto"
    """what computes; auto takes the native engine where it has a kernel"""
    precision: Literal["float32", "float64"] = "float32"
    """of rollouts; sums are always in 64 bits"""
    chunk: int = pydantic.Field(default=CHUNK, ge=1)
    """blocks of episodes computed at a time; changes memory and time, never results"""
    rivals: bool = True
    """whether the trained policy is compared with rivals that need no training; `Run.policy` is the best of all"""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _check_types(cls, data: Any) -> Any:
        """Numbers are numbers: neither true nor "5" is one."""
        if not isinstance(data, dict):
            raise BadInput(f"training must be a table of settings, got {data!r:.80}")
        for name, value in data.items():
            field = cls.model_fields.get(name)
            numeric = field is not None and isinstance(field.default, int | float) and field.default is not True
            if numeric and isinstance(value, bool | str):
                raise BadInput(f"{name} must be a number, got {value!r}")
        if isinstance(data.get("horizon"), bool | str):
            raise BadInput(f"horizon must be a number, got {data['horizon']!r}")
        return data

    @pydantic.model_validator(mode="before")
    @classmethod
    def _settle_recipe(cls, data: Any) -> Any:
        """An optimizer of another kind has another recipe, and iterations that are given are all there are."""
        if isinstance(data, dict) and "iterations" in data:
            data = {"rounds": 1, **data}
        optimizer = data.get("optimizer") if isinstance(data, dict) else None
        if not isinstance(optimizer, str | dict) or is_natural(optimizer):
            return data
        return {**_OTHER_RECIPE, **data}

    @property
    def most_iterations(self) -> int:
        """Iterations of all rounds."""
        return self.rounds * self.iterations

    def warmed_up(self) -> "TrainingSettings":
        """The settings for a policy that knows nothing yet, where it was left open whether it is to warm up."""
        if self.horizon <= LONG_HORIZON or "warm_up" in self.model_fields_set:
            return self
        return self.model_copy(update={"warm_up": self.horizon // SHORTER})

    def of_warm_up(self) -> list["TrainingSettings"]:
        """The settings of the shorter trainings, in their order: the shortest comes first.

        >>> [shorter.horizon for shorter in TrainingSettings(horizon=10_000, warm_up=3000).of_warm_up()]
        [111, 333, 1000, 3000]
        """
        horizons = [] if self.warm_up is None else [self.warm_up]
        while horizons and horizons[-1] > LONG_HORIZON:
            horizons.append(horizons[-1] // SHORTER)
        fewer = {name: max(_LEAST[name], int(getattr(self, name) // times)) for name, times in FEWER.items()}
        return [
            self.model_copy(update={"horizon": horizon, "warm_up": None, "rounds": 1, "rivals": False, **fewer})
            for horizon in reversed(horizons)
        ]

    @pydantic.model_validator(mode="after")
    def _check_warm_up(self) -> "TrainingSettings":
        if self.warm_up is not None and self.warm_up >= self.horizon:
            raise BadInput(f"warm_up must be shorter than the horizon {self.horizon}, got {self.warm_up}")
        return self

    def for_batches(self) -> "TrainingSettings":
        """Returns the settings for steps of many users, whose episodes say more and take longer."""
        return self.model_copy(
            update={name: number for name, number in OF_BATCHES.items() if name not in self.model_fields_set}
        )

    def for_parameters(self, count: int) -> "TrainingSettings":
        """The settings for a policy with so many meta-parameters, where the optimizer was left open."""
        if count <= MOST_PARAMETERS or "optimizer" in self.model_fields_set:
            return self
        said = {name: getattr(self, name) for name in self.model_fields_set if name != "schedule"}
        if not isinstance(self.learning_rate, dict):
            said["schedule"] = self.schedule
        return TrainingSettings.model_validate({**said, "optimizer": _ADAM})

    @pydantic.model_validator(mode="before")
    @classmethod
    def _settle_schedule(cls, data: Any) -> Any:
        """A number has a schedule, spelled out in files; a table is one."""
        if not isinstance(data, dict):
            return data
        if not isinstance(data.get("learning_rate"), dict):
            return {**data, "schedule": "cosine" if data.get("schedule") is None else data["schedule"]}
        if data.get("schedule") is not None:
            raise BadInput(f"schedule must be left out where learning_rate names one, got {data['schedule']!r}")
        return data

    @pydantic.field_validator("learning_rate")
    @classmethod
    def _check_learning_rate(cls, value: float | dict[str, Any]) -> float | dict[str, Any]:
        if isinstance(value, dict):
            check_named_call("learning_rate.schedule", value, "schedule", schedules())
        elif not 0 < value < float("inf"):
            raise BadInput(f"learning_rate must be > 0, got {value}")
        return value

    @pydantic.field_validator("optimizer")
    @classmethod
    def _check_optimizer(cls, value: NamedCall) -> NamedCall:
        call = {"name": value} if isinstance(value, str) else value
        check_named_call("optimizer.name", call, "name", optimizers())
        return value


class TrainingOptions(TypedDict, total=False):
    """The same, as keywords of `tsgrad.train`, for editors and type checkers."""

    horizon: Required[int]
    warm_up: int | None
    episodes: int
    iterations: int
    rounds: int
    learning_rate: float | dict[str, Any]
    schedule: Literal["cosine", "constant"] | None
    optimizer: NamedCall
    clip_norm: float | None
    seed: int
    validation_episodes: int
    check_every: int
    engine: Literal["auto", "jax", "native"]
    precision: Literal["float32", "float64"]
    chunk: int
    rivals: bool


Model = TypeVar("Model", bound=pydantic.BaseModel)


def checked(model: type[Model], data: Mapping[str, Any], *, where: str = "") -> Model:
    """The settings, or an error of one line that names the key, the value and what would be right."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in data.items()}
    try:
        return model.model_validate(plain)
    except pydantic.ValidationError as error:
        raise BadInput(where + _one_line(model, error.errors()[0])) from None


def _one_line(model: type[pydantic.BaseModel], error: Any) -> str:
    key = ".".join(str(part) for part in error["loc"] if not _is_branch(part))
    if error["type"] == "extra_forbidden":
        known = _keys(model, error["loc"][:-1])
        try:
            check_choice(f"a key of {key.rpartition('.')[0] or 'the configuration'}", str(error["loc"][-1]), known)
        except BadInput as unknown:
            return str(unknown)
    if error["type"] == "missing":
        return f"{key} is missing: it must be given"
    if error["type"] == "dict_type":
        return f"{key} must be a table, got {error['input']!r:.80}"
    message: str = error["msg"].removeprefix("Value error, ")
    if isinstance(error.get("ctx", {}).get("error"), BadInput):
        return message
    return f"{key}: {message[0].lower()}{message[1:]}, got {error['input']!r}"


def _is_branch(part: Any) -> bool:
    """Whether pydantic names a branch of a union here, which is no key of the user's."""
    return isinstance(part, str) and (part in {"float", "str", "int"} or part.startswith("dict["))


def _keys(model: type[pydantic.BaseModel], path: tuple[Any, ...]) -> list[str]:
    for part in path:
        annotation = model.model_fields[str(part)].annotation
        tables = (annotation, *typing.get_args(annotation))  # a table, or one that may be left out
        (model,) = (one for one in tables if isinstance(one, type) and issubclass(one, pydantic.BaseModel))
    return list(model.model_fields)
