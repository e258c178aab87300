"""A prior from logs: marginal maximum likelihood over the arms of past experiments."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_array, check_choice, check_count
from tsgrad.live.families import ArmFamily, Family, Units, family_of
from tsgrad.live.goodness import fit_p_value
from tsgrad.live.hierarchy import OverExperiments
from tsgrad.live.likelihood import Found, Profile, Z, best, loss_of, maximum
from tsgrad.live.log import complete, names, numbers, read_log
from tsgrad.live.standard import standard_of
from tsgrad.problems import IndependentArms, Misspecified, UncertainPrior

FAMILIES = ("bernoulli", "gaussian", "poisson")
FEW_UNITS = 8
FEWEST_EXPERIMENTS = 3
UNLIKELY = 0.01  # the least p-value that there is; a right prior gets it for one log in a hundred
LARGEST_REWARD = 1e100  # whose squares, and their sums, are numbers still
LARGEST_COUNT = 1e12  # of an arm; the totals of others like it are integers still
DRAWS = 64  # of priors, where the fit's uncertainty is to be trained for
# Of the covariance of the fit, in these draws. Training for a share c of it costs c^2 of what the whole costs where the
# prior is right, and gains 2 c - c^2 of what it gains where it is off by a standard error, both to second order.
SPREAD_SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class FittedPrior:
    """A prior, how sure it is, and what it was fitted on.

    Prints as a table.

    Attributes:
        family: "bernoulli", "gaussian" or "poisson".
        parameters: of the prior, by name.
        standard_errors: of the parameters; not a number (nan) for those of which the data tell no more than a bound.
        intervals: 95% confidence intervals of the parameters; from the bound on, for these.
        log_likelihood: at the parameters, up to what no parameter changes: of counts, less what it is where every arm
            pays its own average.
        said: what the data can't tell, in words; `warnings` has more.
        free: the parameters in unconstrained coordinates, such as logarithms.
        covariance: of `free`, from the curvature of the likelihood.
        units: the totals of every arm in the log.
        law: the family, as an object.
        standard: the same fit in standard units, in which normal rewards have mean 0 and standard deviation 1.

    """

    family: str
    parameters: dict[str, float]
    standard_errors: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    log_likelihood: float
    said: tuple[str, ...]
    free: FloatArray
    covariance: FloatArray
    units: Units
    law: Family
    standard: Found

    @functools.cached_property
    def fit_p_value(self) -> float:
        """Of a test that the totals of the arms are distributed as a prior of this family predicts, in hundredths.

        It takes seconds where arms are many, the first time it is asked for: logs are drawn from the fit, and fitted.
        """
        fit = self.standard
        return fit_p_value(fit.law, fit.free, fit.covariance, fit.units)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the data can't tell, and whether arms are not what the prior predicts, in words."""
        if self.fit_p_value > UNLIKELY:
            return self.said
        return (
            *self.said,
            f"Arms are not what a prior of this family predicts (p = {self.fit_p_value:.2g}): look for groups of arms.",
        )

    def problem(self, *, arms: int) -> IndependentArms:
        """The bandit with this prior and this number of arms.

        Where experiments have levels, the prior is that of an arm of the next one, whose level is not known.
        """
        return self.law.problem(np.array(list(self.parameters.values())), check_count("arms", arms, least=1))

    def uncertain(self, *, arms: int, seed: int = 0) -> Misspecified:
        """The same model, with a truth whose prior and noise are drawn for each episode from what the fit allows.

        The draws have half of the fit's covariance: what they cost where the fit is right is then a quarter of what it
        would be, and three quarters are gained where it is off.
        """
        model = self.problem(arms=arms)
        generator = np.random.default_rng(check_count("seed", seed, least=0))
        drawn = _standard_draws(generator, len(self.free) + 1)
        # What lies three standard errors away says more about the approximation than about the data.
        edge = 3 * np.sqrt(np.diag(self.covariance))
        moved = np.clip(drawn[:, :-1] @ np.linalg.cholesky(SPREAD_SHARE * self.covariance).T, -edge, edge)
        rows = self.law.drawn(self.free + moved, drawn[:, -1])
        return Misspecified(truth=UncertainPrior(base=model, values=rows), model=model)

    @property
    def shrunk(self) -> FloatArray:
        """The posterior mean of every arm in the log."""
        return self.law.shrunk(self.free, self.units)

    def picture(self, path: str | Path) -> None:
        """Writes a picture of the fit, as PNG: predictive ranks, and the posterior mean of each arm."""
        from tsgrad.live.fit_picture import write_fit_picture

        write_fit_picture(self, path)

    def __str__(self) -> str:
        lines = [f"{self.family}, {len(self.units.pulls)} arms, {int(np.sum(self.units.pulls))} rewards"]
        for name, value in self.parameters.items():
            low, high = self.intervals[name]
            error = self.standard_errors[name]
            known = "" if np.isnan(error) else f"s.e. {error:.3g}, "
            lines.append(f"{name:>14} {value:10.4g}  ({known}95% {low:.4g} to {high:.4g})")
        lines.append(f"fit: p = {self.fit_p_value:.2f}")
        return "\n".join([*lines, *self.warnings])


def fit_prior(
    log: str | Path | Mapping[str, Any],
    *,
    family: str,
    arm: str = "arm",
    reward: str = "reward",
    experiment: str | None = None,
    pulls: str | None = None,
    noise_std: float | None = None,
) -> FittedPrior:
    """Fits the prior of a bandit to what arms of past experiments have paid.

    Args:
        log: a CSV or Parquet file, or columns by name: a row for each reward, or for each arm where `pulls` is given.
            Rows without a reward or a name are left out, and a warning says how many.
        family: "bernoulli", "gaussian" or "poisson".
        arm: the column that says which arm.
        reward: the column of rewards; of their sums, where `pulls` is given.
        experiment: the column that says which experiment; arms of different experiments are different arms.
        pulls: the column of how many rewards a row stands for.
        noise_std: the standard deviation of a single normal reward, where it is known.

    Returns:
        The prior, with standard errors and a test of its fit.

    Raises:
        BadInput: if the log can't be read or lacks a column, has fewer than two arms or arms that are all the same, or
            has rewards that are not of the family.

    Every arm of every experiment counts as one draw from the prior; its mean is integrated out. Where experiments are
    told apart, and differ beyond chance, each has a level of its own around which its arms lie: `experiment_std` says
    how much levels differ, and they are integrated out, too.

        >>> rng = np.random.default_rng(0)
        >>> rates = rng.beta(2.0, 8.0, 200)
        >>> fit = fit_prior({"arm": np.arange(200), "reward": rng.binomial(100, rates), "n": np.full(200, 100)},
        ...                 family="bernoulli", pulls="n")
        >>> 1.5 < fit.parameters["alpha"] < 2.7
        True

    """
    check_choice("family", family, FAMILIES)
    if noise_std is not None:
        known = check_array("noise_std", noise_std, above=0)
        if known.ndim:
            raise BadInput(f"noise_std must be one number, got {noise_std!r:.80}")
        noise_std = float(known)
    base = family_of(family, noise_std)
    table, said = complete(read_log(log, text=(arm, experiment)), reward, arm=arm, experiment=experiment)
    units = _units(table, family, arm, reward, experiment, pulls)
    if len(units.pulls) < 2:
        raise BadInput("log must hold at least two arms: what one arm pays says nothing about how arms differ")
    if not np.ptp(units.total) and not np.ptp(units.pulls) and family != "gaussian":
        raise BadInput("log must hold arms that differ: all of them have the same pulls and rewards")
    if not np.any(units.total) and family != "gaussian":
        raise BadInput("log must hold a reward above zero: from none at all, no prior can be fitted")

    standard = standard_of(base, units)
    found = best(standard.law(base), standard.units(units))
    if units.experiment is not None:
        found, more = _over_experiments(found)
        said += more
    law = OverExperiments(base) if isinstance(found.law, OverExperiments) else base
    free = standard.free(found.free)
    parameters = dict(zip(law.names, map(float, law.parameters(free)), strict=True))
    errors, ends = _errors_and_intervals(found)
    intervals = {name: tuple(float(standard.rewards(name, end)) for end in ends[name]) for name in ends}
    return FittedPrior(
        family=family,
        parameters=parameters,
        standard_errors={name: float(standard.scale * error) for name, error in errors.items()},
        # What was given has no error, and is not what is left of it in standard units and back.
        intervals={
            name: (low, high) if errors[name] else (parameters[name], parameters[name])
            for name, (low, high) in intervals.items()
        },
        log_likelihood=law.log_likelihood(free, units),
        said=(*said, *_warnings(units, found.strongest is not None)),
        free=free,
        covariance=standard.covariance(found.covariance),
        units=units,
        law=law,
        standard=found,
    )


def _errors_and_intervals(found: Found) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Standard errors and 95% intervals of the parameters, by name, in standard units."""
    law, free = found.law, found.free
    values, slopes = law.parameters(free), _slopes(law, free)
    errors = np.sqrt(np.maximum(np.diag(slopes @ found.covariance @ slopes.T), 0.0))
    # Intervals are made where the likelihood is nearest to a parabola: of logarithms, where a number is positive.
    intervals = {}
    for name, value, error in zip(law.names, values, errors, strict=True):
        factor = np.exp(Z * error / value) if value > 0 and name != "prior_mean" else None
        intervals[name] = (value - Z * error, value + Z * error) if factor is None else (value / factor, value * factor)
    if found.strongest is not None:
        # Of what goes with the strength of the prior, only the weakest is known: all that lies beyond may be.
        open_ended = np.any(slopes[:, 1:2] != 0, axis=1)
        errors = np.where(open_ended, np.nan, errors)
        beyond = law.parameters(found.strongest)
        for name, *ends in itertools.compress(zip(law.names, values, beyond, strict=True), open_ended):
            intervals[name] = (min(ends), max(ends))
    elif law.spread is not None:
        # Near zero, where arms differ little for their noise, the likelihood of its logarithm is no parabola.
        profile = Profile(loss_of(law, found.units), free)
        intervals[law.spread] = (np.exp(free[1] - profile.reach(-1.0)), np.exp(free[1] + profile.reach(1.0)))
    return dict(zip(law.names, errors, strict=True)), intervals


def _standard_draws(generator: np.random.Generator, size: int) -> FloatArray:
    """Standard normal vectors, [DRAWS, size], with mean zero and covariance one exactly, in pairs z, -z.

    Independent draws have a mean that is an eighth of a standard deviation away. What is gained by training for the
    spread of priors is of second order in it: that mean would count for more.
    """
    half = generator.standard_normal((DRAWS // 2, size))
    scatter = half.T @ half / len(half)
    half = np.linalg.solve(np.linalg.cholesky(scatter), half.T).T
    return np.concatenate([half, -half])


def _over_experiments(one_prior: Found) -> tuple[Found, list[str]]:
    """The fit in which experiments differ, where they do so beyond chance by a likelihood-ratio test, and what it says.

    That they don't differ lies at the edge of what can be, so that half of the chi-square counts.
    """
    from scipy import stats

    units = one_prior.units
    experiments = int(np.max(units.experiment)) + 1
    if experiments < FEWEST_EXPERIMENTS:
        return one_prior, [f"Only {experiments} experiments: how much they differ is not known; one prior for all."]
    assert isinstance(one_prior.law, ArmFamily)
    differing = OverExperiments(one_prior.law)
    ratio = max(2 * (maximum(differing, units)[1] - one_prior.most_likely), 0.0)
    p_value = 0.5 * float(stats.chi2.sf(ratio, 1)) if ratio > 0 else 1.0
    if p_value > 0.05:
        return one_prior, [f"Experiments differ no more than chance explains (p = {p_value:.2g}): one prior for all."]
    return best(differing, units), [
        f"Experiments differ (p = {p_value:.2g}): problem() has arms of any level, uncertain() arms that share that of"
        " their experiment."
    ]


def _units(table: Any, family: str, arm: str, reward: str, experiment: str | None, pulls: str | None) -> Units:
    """One unit for each arm of each experiment."""
    rewards = numbers(table, reward, "reward")
    counts = np.ones_like(rewards) if pulls is None else numbers(table, pulls, "pulls")
    if np.any(counts < 1) or np.any(counts != np.floor(counts)):
        raise BadInput(f"pulls: column {pulls!r:.40} must hold counts of 1 or more, got {np.min(counts)}")
    counted = (rewards >= 0) & (rewards == np.floor(rewards))
    for counting, possible, what in (
        ("bernoulli", counted & (rewards <= counts), "0 and 1, or successes among pulls"),
        ("poisson", counted, "counts"),
    ):
        if family == counting and not np.all(possible):
            raise BadInput(f"reward: column {reward!r:.40} must hold {what}, got {rewards[np.argmin(possible)]:g}")
    largest = float(np.max(np.abs(rewards)))
    if largest > LARGEST_REWARD:
        raise BadInput(
            f"reward: column {reward!r:.40} must hold numbers up to {LARGEST_REWARD:g} in size, got {largest:g}: state"
            " rewards in larger units"
        )
    keys = [names(table, arm, "arm")]
    if experiment is not None:
        keys.append(names(table, experiment, "experiment"))
    pairs, which = np.unique(np.stack(keys), axis=1, return_inverse=True)
    which = np.ravel(which)
    of = None if experiment is None else np.unique(pairs[1], return_inverse=True)[1]
    n, total = (np.asarray(np.bincount(which, each), np.float64) for each in (counts, rewards))
    if family != "gaussian" and (most := max(np.max(n), np.max(total))) > LARGEST_COUNT:
        raise BadInput(f"log must have at most {LARGEST_COUNT:g} pulls and successes of an arm, got {most:g}")
    if pulls is not None:
        return Units(n, total, None, of)
    squares = np.bincount(which, (rewards - (total / n)[which]) ** 2)
    return Units(n, total, np.asarray(squares, np.float64), of)


def _slopes(law: Family, free: FloatArray) -> FloatArray:
    """The derivative of the parameters in the free coordinates, [P, F]."""
    step = 1e-5
    moved = [law.parameters(free + step * unit) - law.parameters(free - step * unit) for unit in np.eye(len(free))]
    return np.stack(moved, axis=1) / (2 * step)


def _warnings(units: Units, flat: bool) -> list[str]:
    said = []
    if len(units.pulls) < FEW_UNITS:
        said.append(
            f"Only {len(units.pulls)} arms: how much arms differ is hardly known; train on uncertain(), which tsgrad"
            " fit --uncertain writes."
        )
    if flat:
        said.append(
            "The data can't tell how much arms differ: there are too few pulls per arm, or the arms are all alike. The"
            " strength of this prior is the least that they don't rule out."
        )
    return said
