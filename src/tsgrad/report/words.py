"""What things are called in reports: problems, meta-parameters, rivals, recipes, and numbers of settings.

Problems come as `tsgrad.registry.to_data` describes them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray

MEANINGS = {
    "prior_mean": (
        "The reward that sampling pretends to expect of an arm before it was tried (in problems with features: the "
        "coefficients). Above the problem's own value the arm is tried early, out of optimism; below it, late or never."
    ),
    "prior_variance": (
        "How widely sampling draws around what it knows. Below the problem's own value there is less exploration "
        "than in plain Thompson sampling, from the first step on."
    ),
    "covariance_scale": (
        "What multiplies the covariance of the posterior in sampling. Below one there is less exploration than in "
        "plain Thompson sampling, from the first step on."
    ),
    "precision_ratio": (
        "The weight of one reward against the prior. Above the problem's own value rewards are believed sooner, and "
        "what was tried is explored less."
    ),
    "alpha": "The successes that sampling pretends to have seen before an arm was tried. More of them: more optimism.",
    "beta": "The failures that sampling pretends to have seen before an arm was tried. Fewer of them: more optimism.",
    "evidence_weight": (
        "How often one reward is counted. Above one, rewards are believed sooner, and an arm that was pulled is "
        "explored less."
    ),
    "decay": (
        "How fast exploration fades: the share of steps that are left, to this power, multiplies the variance of what "
        "is drawn (where sampling goes by counts, it divides them). Zero leaves it as in plain Thompson sampling; at "
        "one, half of the variance is left at half time."
    ),
}
UNKNOWN = "A meta-parameter of this family of policies; the documentation of the family says what it does."

WORDS = {"prior_std": "prior sd", "noise_std": "noise sd"}
PROBLEMS = {"gaussian": "Gaussian", "bernoulli": "Bernoulli", "poisson": "Poisson"}
MOST_LABELLED = 12  # arms up to which their differences fit below an axis
RIVALS = {"TS": "Thompson sampling", "Gittins": "finite-horizon Gittins", "KG": "knowledge gradient"}


class ArmLabels(NamedTuple):
    """Names of arms below an axis: their numbers, and what tells them apart."""

    title: str
    ticks: list[str]


def meaning(name: str) -> str:
    """What a meta-parameter does, in a sentence or two.

    >>> meaning("evidence_weight")[:32]
    'How often one reward is counted.'
    """
    return MEANINGS.get(name, UNKNOWN)


def spoken(name: str) -> str:
    """A name as people say it.

    >>> spoken("noise_std"), spoken("precision_ratio")
    ('noise sd', 'precision ratio')
    """
    return WORDS.get(name, name.replace("_", " "))


def problem_title(problem: Mapping[str, Any], horizon: int, arms: int | None) -> str:
    """A problem in a few words; `arms` is None where there are infinitely many.

    >>> problem_title({"kind": "gaussian", "noise_std": [0.1, 4.0]}, 50, 2)
    '2 Gaussian arms, 50 steps'
    """
    kind = PROBLEMS.get(problem["kind"], problem["kind"].replace("-", " "))
    what = f"{kind} bandit" if arms is None else f"{arms} {kind} arm{'s' * (arms != 1)}"
    return f"{capital(what)}, {horizon} step{'s' * (horizon != 1)}"


def problem_words(problem: Mapping[str, Any]) -> str:
    """What a problem consists of.

    >>> problem_words({"kind": "gaussian", "prior_mean": [0.0, 0.0], "noise_std": [0.1, 4.0]})
    'gaussian; prior mean 0; noise sd 0.1, 4'
    >>> problem_words({"kind": "misspecified", "truth": {"kind": "gaussian"}, "model": {"kind": "bernoulli"}})
    'misspecified; truth (gaussian); model (bernoulli)'
    """
    parts = [str(problem["kind"])]
    for name, value in problem.items():
        if isinstance(value, Mapping):
            parts.append(f"{spoken(name)} ({problem_words(value)})")
        elif name != "kind" and value is not None:
            numbers = _numbers(value)
            parts.append(f"{spoken(name)} {value if numbers is None else _shown(numbers)}")
    return "; ".join(parts)


def arm_labels(problem: Mapping[str, Any], arms: int) -> ArmLabels:
    r"""Arms by number, with the numbers in which they differ where these are few.

    >>> arm_labels({"kind": "gaussian", "prior_mean": [0.0, 0.0], "noise_std": [0.1, 4.0]}, 2)
    ArmLabels(title='arm, and its noise sd', ticks=['0\n0.1', '1\n4'])
    """
    different = {}
    for name, value in problem.items():
        numbers = _numbers(value)
        if numbers is not None and numbers.shape == (arms,) and np.any(numbers != numbers[0]):
            different[spoken(name)] = [short(number) for number in numbers]
    if arms > MOST_LABELLED or not different:
        return ArmLabels("arm", [str(arm) for arm in range(arms)])
    ticks = ["\n".join(parts) for parts in zip(map(str, range(arms)), *different.values(), strict=True)]
    return ArmLabels(f"arm, and its {' and '.join(different)}", ticks)


def _numbers(value: Any) -> FloatArray | None:
    if isinstance(value, bool) or not isinstance(value, int | float | list | tuple):
        return None
    return np.asarray(value, dtype=float)


def _shown(numbers: FloatArray) -> str:
    if numbers.ndim > 1:
        return f"[{' × '.join(map(str, numbers.shape))}]"
    return listing(numbers)


def spoken_rival(name: str) -> str:
    """A rival's name in sentences and figures.

    >>> spoken_rival("KG"), spoken_rival("Bayes-UCB")
    ('knowledge gradient', 'Bayes-UCB')
    """
    return RIVALS.get(name, name)


def recipe_words(settings: Mapping[str, Any], *, rollouts: int | None) -> str:
    """The `[training]` table of a run, and how many rollouts of each episode its estimator plays, if known.

    >>> settings = {"iterations": 1000, "episodes": 2000, "learning_rate": 0.05, "schedule": "cosine",
    ...             "optimizer": {"name": "adam", "b2": 0.99}}
    >>> recipe_words(settings, rollouts=4)
    '1,000 iterations of 2,000 episodes, 4 rollouts each; adam (b2 0.99), learning rate 0.05, cosine'
    """
    each = f", {rollouts} rollout{'s' * (rollouts > 1)} each" if rollouts else ""
    rate = settings["learning_rate"]
    parts = [f"{_call(settings.get('optimizer', 'adam'), 'name')}"]
    parts.append(f"learning rate {_call(rate, 'schedule') if isinstance(rate, Mapping) else f'{rate:g}'}")
    if settings.get("schedule") and not isinstance(rate, Mapping):
        parts.append(str(settings["schedule"]))
    if settings.get("clip_norm"):
        parts.append(f"gradients clipped at {settings['clip_norm']:g}")
    return f"{settings['iterations']:,} iterations of {settings['episodes']:,} episodes{each}; {', '.join(parts)}"


def _call(value: Any, key: str) -> str:
    """What is called, with its arguments: a name alone, or a table with the name under `key`."""
    if not isinstance(value, Mapping):
        return str(value)
    arguments = ", ".join(f"{name} {number}" for name, number in value.items() if name != key)
    return f"{value[key]} ({arguments})" if arguments else str(value[key])


def short(value: float) -> str:
    """A number of a setting or a meta-parameter: three digits.

    >>> short(0.0625), short(1234.5), short(-1.0), short(1e-9)
    ('0.0625', '1,230', '−1', '1e−9')
    """
    text = f"{float(f'{value:.3g}'):,.10g}" if abs(value) >= 1e-4 else f"{value:.3g}"
    return text.replace("-0", "-").replace("-", "−") if "e" in text else text.replace("-", "−")


def listing(values: Any, *, most: int = 8) -> str:
    """Numbers, as one where all are the same, and cut short where they are many.

    >>> listing([1.0, 1.0]), listing([0.1, 4.0]), listing(range(100), most=3)
    ('1', '0.1, 4', '0, 1, 2, …')
    """
    numbers = np.ravel(np.asarray(values, dtype=float))
    if np.all(numbers == numbers[0]):
        return short(numbers[0])
    shown = [short(number) for number in numbers[:most]]
    return ", ".join(shown + ["…"] * (len(numbers) > most))


def duration(seconds: float) -> str:
    """A time that a person can grasp.

    >>> duration(3.21), duration(75), duration(7384)
    ('3.2 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def capital(text: str) -> str:
    """A text with a capital first.

    >>> capital("many arms")
    'Many arms'
    """
    return text[:1].upper() + text[1:]
