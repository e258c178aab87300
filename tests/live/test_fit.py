"""Priors from logs: likelihoods against scipy's, parameters recovered, words where data can't tell."""

import datetime

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from scipy import integrate, optimize, special, stats

import tsgrad as tg
from tsgrad.live.families import BetaBinomial, GammaPoisson, Normal, Units
from tsgrad.live.fit_picture import predicted_ranks
from tsgrad.live.goodness import refitted
from tsgrad.live.hierarchy import OverExperiments
from tsgrad.live.levels import integrated
from tsgrad.live.log import names, read_log


def drawn(family, generator, arms=60, pulls=40):
    """A log of counts, and the parameters that it was drawn from."""
    n = generator.integers(5, pulls, arms)
    if family == "bernoulli":
        total = generator.binomial(n, generator.beta(2.0, 6.0, arms))
        return {"arm": np.arange(arms), "reward": total, "n": n}, {"alpha": 2.0, "beta": 6.0}
    if family == "poisson":
        total = generator.poisson(n * generator.gamma(3.0, 0.5, arms))
        return {"arm": np.arange(arms), "reward": total, "n": n}, {"shape": 3.0, "rate": 2.0}
    means = np.repeat(generator.normal(1.0, 0.5, arms), n)
    rows = {"arm": np.repeat(np.arange(arms), n), "reward": generator.normal(means, 2.0)}
    return rows, {"prior_mean": 1.0, "prior_std": 0.5, "noise_std": 2.0}


def fitted(family, log):
    return tg.fit_prior(log, family=family, pulls="n" if "n" in log else None)


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "gaussian"])
def test_intervals_hold_the_truth(family):
    """Of 15 intervals with 95%, fewer than 9 hold once in 10^5 tests; benchmarks/live_fit.py has 1,000 logs."""
    held = {}
    for seed in range(15):
        log, truth = drawn(family, np.random.default_rng(seed))
        found = fitted(family, log)
        for name, value in truth.items():
            low, high = found.intervals[name]
            held[name] = held.get(name, 0) + (low <= value <= high)
    assert min(held.values()) >= 9, held


def test_likelihoods_are_those_of_the_marginal_laws():
    """Less what they are where every arm pays its own average."""
    units = Units(np.array([10.0, 20.0, 7.0, 3000.0]), np.array([3.0, 1.0, 0.0, 3000.0]), None)
    pulls, total = units.pulls.astype(int), units.total
    for alpha, beta in ((1.0, 2.0), (0.3, 5.0), (40.0, 60.0), (1e-3, 3e-3), (49.9, 50.1), (700.0, 20.0)):
        free = np.array([np.log(alpha / beta), np.log(alpha + beta)])
        expected = stats.betabinom.logpmf(total, pulls, alpha, beta) - stats.binom.logpmf(total, pulls, total / pulls)
        np.testing.assert_allclose(
            BetaBinomial().unit_log_likelihoods(free, units), expected, rtol=1e-10, atol=1e-11 * (alpha + beta + 3000)
        )
    for shape, rate in ((2.5, 0.7), (0.01, 3.0), (300.0, 900.0)):
        law = stats.nbinom(shape, rate / (rate + pulls))
        np.testing.assert_allclose(
            GammaPoisson().unit_log_likelihoods(np.log([shape / rate, shape]), units),
            law.logpmf(total) - stats.poisson.logpmf(total, total),
            rtol=1e-10,
            atol=1e-11 * (shape + 3000),
        )


def test_likelihoods_of_counts_without_end_are_densities_of_rates():
    """A count of k among n says the same of a prior as its rate does, but for the rate's own spread."""
    pulls = np.array([1e12, 1e10, 1e12])
    rates = np.array([0.03, 0.5, 0.99])
    spread = 0.5 * np.log(2 * np.pi * rates / pulls)
    units = Units(pulls, np.round(pulls * rates), None)
    for alpha, beta in ((2.0, 8.0), (0.3, 0.4), (30.0, 70.0)):
        ours = BetaBinomial().unit_log_likelihoods(np.array([np.log(alpha / beta), np.log(alpha + beta)]), units)
        ours -= spread + 0.5 * np.log(1 - rates)
        np.testing.assert_allclose(ours, stats.beta.logpdf(rates, alpha, beta), atol=1e-4)
    for shape, rate in ((2.0, 8.0), (30.0, 70.0)):
        ours = GammaPoisson().unit_log_likelihoods(np.log([shape / rate, shape]), units) - spread
        np.testing.assert_allclose(ours, stats.gamma.logpdf(rates, shape, scale=1 / rate), atol=1e-4)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_more_rewards_of_arms_that_are_known_say_nothing_new(family):
    """From 10^8 on, they had made errors smaller, down to a thirtieth: sums of terms as large as counts are."""
    rates = np.random.default_rng(1).beta(2.0, 98.0, 50)
    found = [
        tg.fit_prior(
            {"arm": np.arange(50), "reward": np.round(n * rates), "n": np.full(50, n)}, family=family, pulls="n"
        )
        for n in (1e6, 1e9, 1e12)
    ]
    for other in found[1:]:
        for name, error in found[0].standard_errors.items():
            assert other.parameters[name] == pytest.approx(found[0].parameters[name], rel=1e-2)
            assert other.standard_errors[name] == pytest.approx(error, rel=2e-2)


@pytest.mark.parametrize("strength", [60.0, 1e4, 1e9, 1e17])
def test_likelihoods_of_strong_priors_are_those_of_arms_that_are_alike(strength):
    """Up to 1 / strength, and no rounding: the maximum may lie that far out."""
    units = Units(np.array([100.0, 170.0]), np.array([3.0, 0.0]), None)
    total, pulls = units.total, units.pulls.astype(int)
    alike = np.sum(stats.binom.logpmf(total, pulls, 0.2) - stats.binom.logpmf(total, pulls, total / pulls))
    ours = BetaBinomial().log_likelihood(np.array([special.logit(0.2), np.log(strength)]), units)
    assert abs(ours - alike) < 1e5 / strength + 1e-10
    alike = np.sum(stats.poisson.logpmf(total, 0.3 * pulls) - stats.poisson.logpmf(total, total))
    ours = GammaPoisson().log_likelihood(np.log([0.3, strength]), units)
    assert abs(ours - alike) < 1e5 / strength + 1e-10


def test_arms_that_differ_less_than_chance_are_not_taken_for_the_same():
    """Their likelihood grows with the strength of the prior, without end, and by less and less."""
    totals = np.array([0, 1, 1, 0, 1, 1, 0, 1, 1, 1])
    found = tg.fit_prior({"arm": np.arange(10), "reward": totals, "n": np.full(10, 150)}, family="bernoulli", pulls="n")
    assert any("can't tell" in said for said in found.warnings)
    assert found.parameters["alpha"] + found.parameters["beta"] < 1e4
    assert np.ptp(found.shrunk) > 1e-4
    for name, value in found.parameters.items():  # the weakest that the data allow: intervals begin there
        assert found.intervals[name] == (value, np.inf)
        assert np.isnan(found.standard_errors[name])
    assert "s.e." not in str(found)
    np.testing.assert_allclose(found.log_likelihood, found.law.log_likelihood(found.free, found.units))
    assert found.standard.most_likely - found.log_likelihood == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, abs=1e-3)


def test_of_normal_arms_that_are_alike_the_most_that_they_differ_is_known():
    generator = np.random.default_rng(0)
    log = {"arm": np.repeat(np.arange(20), 50), "reward": generator.normal(3.0, 0.5, 1000)}
    found = tg.fit_prior(log, family="gaussian")
    assert any("can't tell" in said for said in found.said)
    assert found.intervals["prior_std"] == pytest.approx((0.0, found.parameters["prior_std"]))
    assert np.isnan(found.standard_errors["prior_std"])
    assert found.standard_errors["noise_std"] == pytest.approx(0.5 / np.sqrt(2 * 980), rel=0.05)


def test_the_interval_of_how_much_arms_differ_ends_where_the_likelihood_ratio_does():
    """Twice its logarithm is the 95% quantile of chi-square; the prior mean has its best value in closed form."""
    generator = np.random.default_rng(1)
    pulls = generator.integers(5, 40, 30)
    average = generator.normal(1.0, 0.5, 30) + generator.normal(0.0, 2 / np.sqrt(pulls))
    log = {"arm": np.arange(30), "reward": average * pulls, "n": pulls}
    found = tg.fit_prior(log, family="gaussian", pulls="n", noise_std=2.0)

    def best(std):
        weight = 1 / (std**2 + 4 / pulls)
        return found.law.log_likelihood(np.array([np.sum(weight * average) / np.sum(weight), np.log(std)]), found.units)

    for end in found.intervals["prior_std"]:
        assert abs(found.log_likelihood - best(end) - stats.chi2.ppf(0.95, 1) / 2) < 0.01


def in_other_units(log, scale, shift, noise=None):
    """A fit of rewards in other units, and all of its numbers in those that they were in."""
    found = tg.fit_prior(
        {**log, "reward": scale * log["reward"] + shift}, family="gaussian", noise_std=noise, **told_apart(log)
    )
    shifts = {"prior_mean": shift}
    return found, {
        name: np.array(
            [
                (value - shifts.get(name, 0.0)) / scale,
                found.standard_errors[name] / scale,
                *((end - shifts.get(name, 0.0)) / scale for end in found.intervals[name]),
            ]
        )
        for name, value in found.parameters.items()
    }


def told_apart(log):
    """The option that names its column of experiments."""
    return {"experiment": "experiment"} if "experiment" in log else {}


@pytest.mark.parametrize("kind", ["plain", "known noise", "experiments", "arms alike"])
@pytest.mark.parametrize(("scale", "shift"), [(1e-3, 0.0), (1.0, 40.0), (1e3, -2e3), (1e6, 5.0)])
def test_fits_do_not_depend_on_the_unit_of_rewards(kind, scale, shift):
    """Nor do words and p-values."""
    generator = np.random.default_rng(0)
    means = 3 + (0 if kind == "arms alike" else 1) * generator.normal(size=20)
    log = {"arm": np.repeat(np.arange(20), 50)}
    if kind == "experiments":
        log["experiment"] = np.repeat(np.arange(5), 200)
        means = means + np.repeat(generator.normal(0, 2, 5), 4)
    log["reward"] = generator.normal(np.repeat(means, 50), 0.5)
    noise = 0.5 if kind == "known noise" else None
    plain, expected = in_other_units(log, 1.0, 0.0, noise)
    found, seen = in_other_units(log, scale, shift, None if noise is None else noise * scale)
    for name, numbers in expected.items():
        np.testing.assert_allclose(seen[name], numbers, rtol=1e-3, atol=1e-4)
    assert found.said == plain.said
    if kind == "plain":
        assert found.fit_p_value == plain.fit_p_value


def test_the_normal_likelihood_integrates_the_mean_out():
    rewards = np.array([0.3, 1.2, -0.4])
    mean, std, noise = 0.2, 0.7, 1.3
    squares = np.sum((rewards - rewards.mean()) ** 2)
    units = Units(np.array([3.0]), np.array([rewards.sum()]), np.array([squares]))

    def density(theta):
        return stats.norm.pdf(theta, mean, std) * np.prod(stats.norm.pdf(rewards, theta, noise))

    whole = np.log(integrate.quad(density, -10, 10)[0])
    ours = Normal(None).log_likelihood(np.array([mean, np.log(std), np.log(noise)]), units)
    # What is left out does not depend on the parameters: (2 pi)^(-(n - 1) / 2) and the root of n.
    np.testing.assert_allclose(ours - np.log(2 * np.pi) - 0.5 * np.log(3), whole, rtol=1e-8)


def test_rows_and_counts_are_the_same_log(tmp_path):
    generator = np.random.default_rng(0)
    arms = np.repeat(np.arange(12), 30)
    rewards = (generator.random(360) < np.repeat(generator.beta(2, 5, 12), 30)).astype(int)
    path = tmp_path / "log.csv"
    path.write_text("item,click\n" + "\n".join(f"{a},{r}" for a, r in zip(arms, rewards, strict=True)))
    raw = tg.fit_prior(path, family="bernoulli", arm="item", reward="click")
    counts = {"arm": np.arange(12), "reward": np.bincount(arms, rewards), "n": np.full(12, 30)}
    np.testing.assert_allclose(raw.free, tg.fit_prior(counts, family="bernoulli", pulls="n").free, atol=1e-5)


def test_words_where_data_cannot_tell():
    few = tg.fit_prior({"arm": [0, 1, 2], "reward": [3, 5, 4], "n": [9, 10, 11]}, family="bernoulli", pulls="n")
    assert any("Only 3 arms" in said for said in few.warnings)
    assert any("can't tell" in said for said in few.warnings)
    groups = np.repeat([5, 95], 30)
    split = tg.fit_prior({"arm": np.arange(60), "reward": groups, "n": np.full(60, 100)}, family="bernoulli", pulls="n")
    assert split.fit_p_value == 0.01  # the least that there is
    assert any("groups" in said for said in split.warnings)


def test_p_values_of_right_priors_are_uniform():
    """Of 24 uniform ones, fewer than 5 or more than 19 are below one half once in 600 tests, and none below a quarter
    once in 900. With the usual table of the Kolmogorov-Smirnov distance, hardly any would be below a quarter.
    """
    logs = [(family, seed) for family in ("bernoulli", "poisson", "gaussian") for seed in range(8)]
    found = [fitted(family, drawn(family, np.random.default_rng(seed), arms=30)[0]) for family, seed in logs]
    p_values = np.array([one.fit_p_value for one in found])
    assert 5 <= np.sum(p_values <= 0.5) <= 19, p_values
    assert np.any(p_values <= 0.25), p_values
    assert fitted("gaussian", drawn("gaussian", np.random.default_rng(7), arms=30)[0]).fit_p_value == p_values[-1]


def test_ranks_in_the_picture_are_those_of_the_p_value():
    """34 arms with some 300 views and a click or none each, all alike: of 34 uniform ranks, the distance of Kolmogorov
    and Smirnov is above 0.28 for one log in a hundred. Middles of bars are tied, and the weakest prior is another.
    """
    generator = np.random.default_rng(0)
    log = {"arm": np.arange(34), "reward": generator.binomial(300, 0.004, 34), "n": np.full(34, 300)}
    found = tg.fit_prior(log, family="bernoulli", pulls="n")
    below, at_most, ranks = predicted_ranks(found)
    assert np.all((below <= ranks) & (ranks <= at_most))
    assert stats.kstest(ranks, "uniform").statistic < 0.28
    assert len(np.unique(ranks)) == 34
    alike = stats.binom(300, log["reward"].sum() / (34 * 300))
    np.testing.assert_allclose(at_most, alike.cdf(found.units.total), atol=0.02)
    assert np.max(np.abs(found.law.predictive(found.free, found.units)[1] - at_most)) > 0.05  # the weakest prior


def test_arms_of_two_kinds_have_a_small_p_value():
    """Half of the arms pay 1 and half pay 5, give or take 0.1: no normal prior predicts two heaps."""
    generator = np.random.default_rng(0)
    means = np.repeat([1.0, 5.0], 30) + generator.normal(0.0, 0.1, 60)
    log = {"arm": np.repeat(np.arange(60), 20), "reward": generator.normal(np.repeat(means, 20), 0.5)}
    assert tg.fit_prior(log, family="gaussian").fit_p_value <= 0.02


@pytest.mark.parametrize("total", [0, 3, 450, 900, 1700, 1999, 2000])
def test_predictive_chances_are_those_of_the_beta_binomial(total):
    """To rounding where there are few successes or failures, to half a step of the integral where there are many."""
    law, units = BetaBinomial(), Units(np.array([2000.0]), np.array([float(total)]), None)
    free = np.array([special.logit(0.3), np.log(20.0)])
    below, at_most = law.predictive(free, units)
    exact = stats.betabinom(2000, *law.parameters(free))
    np.testing.assert_allclose(at_most, exact.cdf(total), atol=1e-9 if total != 900 else 0.002)
    np.testing.assert_allclose(below, exact.cdf(total - 1), atol=1e-9 if total != 900 else 0.002)


@pytest.mark.parametrize("pulls", [1e8, 3e9, 1e12])
@pytest.mark.parametrize("z", [-2.0, 0.0, 1.5])
def test_predictive_chances_of_huge_counts_are_normal(pulls, z):
    """A rate that is as good as known, 0.3, and counts that no 32-bit integer holds: by the central limit theorem."""
    total = np.round(0.3 * pulls + z * np.sqrt(0.21 * pulls))
    units = Units(np.array([pulls]), np.array([total]), None)
    _, at_most = BetaBinomial().predictive(np.array([special.logit(0.3), np.log(1e20)]), units)
    np.testing.assert_allclose(at_most, special.ndtr(z), atol=1e-4)


def test_counts_beyond_reckoning_are_refused():
    log = {"arm": ["a", "b", "c"], "reward": [10, 20, 30], "pulls": [100, 1e13, 300]}
    with pytest.raises(tg.BadInput, match="at most 1e\\+12 pulls"):
        tg.fit_prior(log, family="bernoulli", pulls="pulls")


def test_the_fit_of_very_many_arms_is_judged_by_some():
    """2,500 arms of the right kind, and of two kinds; 1,000 of them tell."""
    generator = np.random.default_rng(1)
    p_values = []
    for rates in (generator.beta(2, 8, 2500), np.repeat([0.1, 0.4], 1250)):
        log = {"arm": np.arange(2500), "reward": generator.binomial(900, rates), "pulls": np.full(2500, 900)}
        p_values.append(tg.fit_prior(log, family="bernoulli", pulls="pulls").fit_p_value)
    assert p_values[0] > 0.05
    assert p_values[1] == 0.01


def test_rows_that_wait_for_their_reward_are_left_out():
    log = {"arm": ["a", "b", "c"] * 4, "reward": [1, 0, None, 1, 1, 0, 0, 0, 0, None, 1, 1]}
    kept = [row for row, reward in enumerate(log["reward"]) if reward is not None]
    alone = tg.fit_prior({name: [values[row] for row in kept] for name, values in log.items()}, family="bernoulli")
    found = tg.fit_prior(log, family="bernoulli")
    assert found.parameters == alone.parameters
    assert found.warnings == ("2 of 12 rows have no reward yet, and are left out.", *alone.warnings)


def written(path, columns):
    """A log as CSV or Parquet; numbers are written as they are given, None as nothing."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    else:
        rows = [["" if one is None else str(one) for one in row] for row in zip(*columns.values(), strict=True)]
        path.write_text("\n".join(",".join(row) for row in [list(columns), *rows]))
    return path


@pytest.mark.parametrize(
    "strange",
    [
        np.array(["2024-01-01", "2024-01-02"] * 3, "datetime64[D]"),
        np.array([1, 2] * 3, "timedelta64[s]"),
        np.array([1 + 2j, 1.0] * 3),
        [None, *[datetime.date(2024, 1, 1)] * 5],
    ],
)
def test_dates_are_no_rewards(strange):
    """They had been taken for seconds since 1970."""
    with pytest.raises(tg.BadInput, match="reward: column 'reward' must hold numbers, got "):
        tg.fit_prior({"arm": ["a", "a", "b", "b", "c", "c"], "reward": strange}, family="gaussian")


class NotAvailable:
    """As pandas has it: what it is compared with, nothing comes of it."""

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


def test_cells_that_can_not_be_compared_are_empty():
    log = {"arm": ["a", "a", "b", "b", NotAvailable(), "c"], "reward": [1, 0, 1, 1, 0, NotAvailable()]}
    found = tg.fit_prior({name: np.array(values, object) for name, values in log.items()}, family="bernoulli")
    assert [said for said in found.said if "left out" in said] == [
        "1 of 6 rows have no arm, and are left out.",
        "1 of 6 rows have no reward yet, and are left out.",
    ]


def test_a_file_is_what_it_holds_and_what_is_not_a_number_is_no_name(tmp_path):
    columns = {"arm": [1.0, 1.0, 2.0, 2.0, np.nan, np.nan], "reward": [0, 1, 1, 1, 0, 0]}
    path = tmp_path / "LOG.PQ"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    found = tg.fit_prior(path, family="bernoulli")
    assert len(found.units.pulls) == 2
    assert found.said[0] == "2 of 6 rows have no arm, and are left out."


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_names_of_arms_and_experiments_are_as_they_are_written(tmp_path, kind):
    """1.1 is not 1.10, nor 01 1; a row without an arm leaves integers what they are."""
    versions, rewards = ["1.1", "1.10", "1.2", "01", "1"], [0, 1, 1, 0, 0, 1, 1, 1, 0, 0] * 4
    log = written(tmp_path / f"versions.{kind}", {"arm": versions * 8, "reward": rewards})
    assert len(tg.fit_prior(log, family="bernoulli").units.pulls) == 5
    rewards = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1] * 2
    numbers = {"arm": [7, 8, None, 9] * 6, "reward": rewards, "week": [1, None, 2, 2] * 6}
    log = written(tmp_path / f"numbers.{kind}", numbers)
    found = tg.fit_prior(log, family="bernoulli")
    assert len(found.units.pulls) == 3
    assert found.said[0] == "6 of 24 rows have no arm, and are left out."
    assert names(read_log(log, text=["arm"]), "arm", "arm").tolist()[:4] == ["7", "8", "", "9"]
    told_apart = tg.fit_prior(log, family="bernoulli", experiment="week")
    assert told_apart.said[1] == "6 of 24 rows have no experiment, and are left out."
    assert len(told_apart.units.pulls) == 2
    in_memory = tg.fit_prior(numbers, family="bernoulli")
    assert in_memory.said == found.said
    assert in_memory.parameters == found.parameters


def test_columns_of_the_same_name_are_refused(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("arm,reward,reward\na,1,0\nb,0,1\n")
    with pytest.raises(tg.BadInput, match="'reward' twice"):
        tg.fit_prior(path, family="bernoulli")


def test_worlds_of_an_uncertain_fit_are_those_of_priors_it_leaves_open():
    """Log-odds of means vary more between episodes than with the fitted prior: its own uncertainty comes on top."""
    log, _ = drawn("bernoulli", np.random.default_rng(3), arms=10)
    found = fitted("bernoulli", log)
    problem = found.uncertain(arms=4)
    np.testing.assert_allclose(problem.model.alpha, found.parameters["alpha"])
    home = tg.Address.of(seed=0, purpose=tg.Purpose.EVALUATION)

    @jax.jit
    @jax.vmap
    def worlds(number):
        noise = home.with_episode(number).noise(tg.Stream.WORLD)
        return problem.model.draw_world(noise).order, problem.truth.draw_world(noise).order

    fixed, varied = (np.asarray(order) for order in worlds(jnp.arange(2000, dtype=jnp.uint32)))
    assert np.isfinite(varied).all()
    assert varied.std() > 1.1 * fixed.std()
    assert np.corrcoef(fixed.ravel(), varied.ravel())[0, 1] > 0.7  # the noise of a world is the same


def test_priors_that_a_fit_leaves_open_have_its_mean_and_half_of_its_covariance():
    """Exactly: what training gains from their spread is less than what a mean that is off by chance would cost."""
    log, _ = drawn("gaussian", np.random.default_rng(4), arms=10)
    found = fitted("gaussian", log)
    rows = found.uncertain(arms=3).truth.values
    free = np.stack([rows[:, 0], np.log(rows[:, 1]), np.log(rows[:, 2])], axis=1)
    assert np.all(np.abs(free - found.free) < 3 * np.sqrt(np.diag(found.covariance)))  # none was cut off at this seed
    np.testing.assert_allclose(free.mean(axis=0), found.free, atol=1e-12)
    np.testing.assert_allclose(np.cov(free.T, bias=True), 0.5 * found.covariance, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"family": "normal"}, "family"),
        ({"arm": "item"}, "arm"),
        ({"reward": "arm"}, "reward"),
        ({"log": {"arm": [1], "reward": [1]}}, "two arms"),
        ({"log": {"arm": range(20), "reward": [0, 1] * 10}}, "two rewards or more"),
        ({"log": {"arm": [0, 0, 1, 1], "reward": [0.1, 0.1, 0.3, 0.3]}, "family": "gaussian"}, "no noise to estimate"),
        ({"log": {"arm": [0, 0, 1, 1], "reward": [0.1] * 4}, "family": "gaussian"}, "no noise to estimate"),
        ({"log": {"arm": [0, 1, 2, 2], "reward": [0] * 4}, "family": "poisson"}, "above zero"),
        ({"log": {"arm": [0, 1, 2, 2], "reward": [0] * 4}}, "above zero"),
        ({"log": "nothing.csv"}, "no such file"),
        ({"log": 3}, "log"),
        ({"noise_std": 1.0}, "noise_std"),
        ({"log": {"arm": [1, 2], "reward": [float("inf"), 1.0]}}, "finite"),
        ({"log": {"arm": [1, 2], "reward": [float("nan")] * 2}}, "got none"),
        ({"log": {"arm": [1, 1, 2, 2], "reward": [1e200, 0.0, 1.0, 2.0]}, "family": "gaussian"}, "larger units"),
    ],
)
def test_bad_logs_are_one_line(change, word):
    given = {"log": {"arm": ["a", "b"], "reward": [0, 1]}, "family": "bernoulli", **change}
    with pytest.raises(tg.BadInput, match=word):
        tg.fit_prior(**given)


def experiments(generator, count, between):
    """A log of 12 arms in each experiment, whose levels differ by so much on the scale of log-odds."""
    levels = np.repeat(generator.normal(-1.0, between, count), 12)
    rates = generator.beta(20 * special.expit(levels), 20 * special.expit(-levels))
    return {
        "experiment": np.repeat(np.arange(count), 12),
        "arm": np.tile(np.arange(12), count),
        "reward": generator.binomial(200, rates),
        "n": np.full(12 * count, 200),
    }


def test_experiments_that_differ_have_levels_of_their_own():
    """Of three intervals with 95%, all hold at this seed; the levels of experiments to come vary as those that were."""
    log = experiments(np.random.default_rng(2), 30, 0.8)
    found = tg.fit_prior(log, family="bernoulli", pulls="n", experiment="experiment")
    assert any("Experiments differ (p =" in said for said in found.warnings)
    low, high = found.intervals["experiment_std"]
    assert low < 0.8 < high
    strength = found.parameters["alpha"] + found.parameters["beta"]
    assert 12 < strength < 33  # 20; the error of its logarithm is some 0.1
    assert found.fit_p_value > 0.01
    means = found.uncertain(arms=3).truth.values
    levels = special.logit(means[:, 0] / means.sum(axis=1))
    assert 0.5 < np.std(levels) < 1.2
    names = np.array([f"{one}-{other}" for one, other in zip(log["experiment"], log["arm"], strict=True)])
    plain = tg.fit_prior({**log, "arm": names}, family="bernoulli", pulls="n")
    assert plain.parameters["alpha"] + plain.parameters["beta"] < 0.7 * strength  # levels pass for differences of arms


def test_experiments_that_are_alike_have_one_prior():
    log = experiments(np.random.default_rng(0), 6, 0.0)
    found = tg.fit_prior(log, family="bernoulli", pulls="n", experiment="experiment")
    assert found.warnings[0].startswith("Experiments differ no more than chance explains")
    names = [f"{one}-{other}" for one, other in zip(log["experiment"], log["arm"], strict=True)]
    flat = tg.fit_prior({**log, "arm": np.array(names)}, family="bernoulli", pulls="n")
    assert found.parameters == pytest.approx(flat.parameters)


@pytest.mark.parametrize("law", [BetaBinomial(), GammaPoisson(), Normal(1.0)], ids=lambda law: type(law).__name__)
def test_levels_of_experiments_are_integrated_out(law):
    units = Units(np.array([5.0, 8.0, 6.0]), np.array([2.0, 3.0, 5.0]), None, np.array([0, 0, 1]))
    free = np.array([0.2, 0.4, np.log(0.7)])

    def joint(z, which):
        moved = np.array([0.2 + 0.7 * z, 0.4])
        return np.exp(law.unit_log_likelihoods(moved, units)[which].sum()) * stats.norm.pdf(z)

    expected = sum(
        np.log(integrate.quad(joint, -8, 8, args=(which,), points=[0], epsabs=1e-14)[0]) for which in ([0, 1], [2])
    )
    np.testing.assert_allclose(OverExperiments(law).log_likelihood(free, units), expected, rtol=1e-5)


def test_levels_that_differ_twenty_times_as_much_as_arms_do():
    """Against the exact likelihood: arms of an experiment have covariance diag(v) + tau^2 11'. Nodes at even steps of
    tau find a mean of 13.37 and an experiment_std of 2.67 at this seed, in place of 10.39 and 1.41.
    """
    generator = np.random.default_rng(1)
    means = generator.normal(10.0, 2.0, 8)[:, None] + 0.1 * generator.normal(size=(8, 10))
    average = means + 0.1 / np.sqrt(400) * generator.normal(size=means.shape)
    log = {"e": np.repeat(np.arange(8), 10), "arm": np.tile(np.arange(10), 8), "n": np.full(80, 400)}
    log["reward"] = 400 * average.ravel()
    found = tg.fit_prior(log, family="gaussian", pulls="n", experiment="e", noise_std=0.1)

    def loss(free):
        covariance = (np.exp(2 * free[1]) + 0.01 / 400) * np.eye(10) + np.exp(2 * free[2])
        return -stats.multivariate_normal(np.full(10, free[0]), covariance).logpdf(average).sum()

    options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000}
    exact = optimize.minimize(loss, [10.0, np.log(0.1), np.log(2.0)], method="Nelder-Mead", options=options)
    expected = [exact.x[0], *np.exp(exact.x[1:])]
    fitted = [found.parameters[name] for name in ("prior_mean", "prior_std", "experiment_std")]
    np.testing.assert_allclose(fitted, expected, rtol=1e-4)
    np.testing.assert_allclose(found.log_likelihood, -exact.fun, atol=1e-6)
    assert found.parameters["noise_std"] == 0.1  # as it was given, and so is its interval
    assert found.intervals["noise_std"] == (0.1, 0.1)


def on_a_fine_grid(law, free, spread, units, nodes=4001):
    """Log-likelihoods of experiments with their levels integrated out, on a grid that ends where the density does."""
    found = []
    for number in np.unique(units.experiment):
        own = units.some(units.experiment == number)
        high = max(12.0, 10 / spread)
        low = -high
        for _ in range(8):
            z = np.linspace(low, high, nodes)
            moved = np.tile(free, (nodes, len(own.pulls), 1))
            moved[..., 0] += spread * z[:, None]
            density = law.unit_log_likelihoods(moved, own).sum(axis=1) + stats.norm.logpdf(z)
            inside = np.flatnonzero(density > density.max() - 45)
            if len(inside) > nodes / 4:
                break
            low, high = z[max(inside[0] - 1, 0)], z[min(inside[-1] + 1, nodes - 1)]
        found.append(special.logsumexp(density) + np.log(z[1] - z[0]))
    return np.array(found)


@pytest.mark.parametrize("pulls", [1, 100, 50_000])
@pytest.mark.parametrize("spread", [0.05, 1.0, 5.0])
@pytest.mark.parametrize("law", [BetaBinomial(), GammaPoisson()], ids=lambda law: type(law).__name__)
def test_levels_are_integrated_out_however_well_they_are_known(law, spread, pulls):
    """One experiment has no success; at one pull, others have hardly any."""
    generator = np.random.default_rng(0)
    experiment = np.repeat(np.arange(6), 10)
    levels = generator.normal(-3.0, 1.0, 6)[experiment]
    total = generator.binomial(pulls, special.expit(levels)) * (experiment > 0)
    units = Units(np.full(60, float(pulls)), total.astype(float), None, experiment)
    for strength in (3.0, 20_000.0):
        free = np.array([-3.0, np.log(strength)])
        ours = integrated(law, free, spread, units).log_likelihood
        np.testing.assert_allclose(ours, on_a_fine_grid(law, free, spread, units), rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_parameters_of_arms_that_are_much_alike_are_recovered(family):
    """Level sd 1 around -3, arms within some 3% of it: nodes at even steps found mean levels of -2.65 and, of counts,
    -4.74, where that of these levels is -2.92. The error of the logarithm of strength is some 0.15.
    """
    generator = np.random.default_rng(0)
    levels, shape = generator.normal(-3.0, 1.0, 10)[:, None] * np.ones((10, 10)), 20_000
    if family == "bernoulli":
        mean = special.expit(levels)
        total = generator.binomial(50_000, generator.beta(shape * mean, shape * (1 - mean)))
    else:
        total = generator.poisson(50_000 * generator.gamma(1_000, np.exp(levels) / 1_000))
    log = {"e": np.repeat(np.arange(10), 10), "arm": np.tile(np.arange(10), 10), "n": np.full(100, 50_000)}
    found = tg.fit_prior({**log, "reward": total.ravel()}, family=family, pulls="n", experiment="e")
    first, second = list(found.parameters.values())[:2]
    strength = (first + second) / shape if family == "bernoulli" else first / 1_000
    assert abs(np.log(first / second) - levels[:, 0].mean()) < 0.05  # of these levels themselves
    assert 0.5 < strength < 2.0
    np.testing.assert_allclose(found.parameters["experiment_std"], levels[:, 0].std(), rtol=0.05)


@pytest.mark.parametrize(
    ("law", "middle"),
    [(BetaBinomial(), [2.0, 18.0]), (GammaPoisson(), [5.0, 2.0]), (Normal(0.5), [1.0, 0.4, 0.5])],
    ids=lambda one: type(one).__name__,
)
def test_the_problem_of_the_next_experiment_has_arms_of_any_level(law, middle):
    """Mean and variance of a million arms, each of an experiment of its own, within 5 of their errors."""
    generator = np.random.default_rng(0)
    z = generator.standard_normal(1_000_000)
    if isinstance(law, Normal):
        arms = 1.0 + 0.6 * z + 0.4 * generator.standard_normal(len(z))
    elif isinstance(law, BetaBinomial):
        mean = special.expit(np.log(2 / 18) + 0.6 * z)
        arms = generator.beta(20 * mean, 20 * (1 - mean))
    else:
        arms = generator.gamma(5.0, 2.5 * np.exp(0.6 * z) / 5.0)
    problem = OverExperiments(law).problem(np.array([*middle, 0.6]), 3)
    moments = problem.arm_moments(problem.prior(1), tg.Context())
    assert abs(moments.mean[0] - arms.mean()) < 5 * arms.std() / 1000
    squares = (arms - arms.mean()) ** 2
    assert abs(moments.std[0] ** 2 - squares.mean()) < 5 * squares.std() / 1000


def test_searches_of_the_test_of_a_fit_warn_of_nothing():
    """They go to levels whose exponentials overflow, as that of the fit itself does."""
    units = Units(np.array([5.0, 8.0, 6.0]), np.array([2.0, 3.0, 5.0]), None, np.array([0, 0, 1]))
    found = refitted(OverExperiments(GammaPoisson()), np.array([0.2, 0.4, np.log(300.0)]), np.eye(3), units)
    assert np.isfinite(found).all()
