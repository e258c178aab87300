"""Finite-horizon Gittins indices against slow, independent computations; and the cache that keeps them."""

import functools
import io
import os

import numpy as np
import platformdirs
import pytest
from scipy import optimize

import tsgrad as tg
from tsgrad.policies.rivals import gittins
from tsgrad.policies.rivals.gittins_bernoulli import bernoulli_indices
from tsgrad.policies.rivals.gittins_gaussian import gaussian_bonuses
from tsgrad.policies.rivals.kept_table import digest, kept_table
from tsgrad.problems.tabled import beta_cells


def test_check_value():
    assert abs(gaussian_bonuses(1.0, 2)[0, 1] - 0.195183) < 1e-6


@pytest.mark.parametrize("ratio", [0.01, 1.0, 100.0])
def test_gaussian_bonuses_against_induction_on_a_grid(ratio):
    """V on 8,001 points of the posterior mean, densest at its kink, linear in between; expectations over 2,001."""
    horizon, scale = 6, np.sqrt(ratio)
    mean = 0.05 * scale * np.sinh(np.linspace(-np.arcsinh(100), np.arcsinh(180), 8001))
    z = np.linspace(-7, 7, 2001)
    weight = np.exp(-(z**2) / 2) / np.sum(np.exp(-(z**2) / 2))
    found = gaussian_bonuses(ratio, horizon)
    for total in range(2, horizon + 1):  # pulls + decisions left, the same along an episode
        value = np.maximum(mean, 0)
        for left in range(2, total + 1):
            pulls = total - left
            step = np.sqrt(1 / (1 / ratio + pulls) - 1 / (1 / ratio + pulls + 1))
            later = sum(w * np.interp(mean + step * x, mean, value) for x, w in zip(z, weight, strict=True))
            beyond = mean + 7 * step > mean[-1]  # where the table ends, the arm is pulled to the end
            worth = np.where(beyond, left * mean, mean + later)
            root = np.interp(0.0, worth, mean)
            assert abs(-root - found[pulls, left - 1]) < 1e-5 * scale
            value = np.maximum(worth, 0)


def slow_bernoulli_index(a, b, left):
    """The price at which the arm is worth as much as the known one, by recursion and bisection."""

    def excess(price):
        @functools.cache
        def value(successes, failures, left):
            mean = (a + successes) / (a + b + successes + failures)
            if left == 0:
                return 0.0
            after = mean * value(successes + 1, failures, left - 1)
            after += (1 - mean) * value(successes, failures + 1, left - 1)
            return max(0.0, mean - price + after)

        mean = a / (a + b)
        return mean - price + mean * value(1, 0, left - 1) + (1 - mean) * value(0, 1, left - 1)

    return optimize.brentq(excess, 0, 1, xtol=1e-15, rtol=1e-14)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1.0, 1.0), (0.3, 0.8), (20.0, 300.0), (1000.0, 3000.0), (0.5, 5000.0), (1e9, 3e9)]
)
def test_bernoulli_indices_against_recursion(alpha, beta):
    """However narrow the prior is: within 1e-4, and within 0.005 of its standard deviation."""
    found = bernoulli_indices(alpha, beta, 16)
    prior_std = np.sqrt(alpha * beta / (alpha + beta + 1)) / (alpha + beta)
    for successes, failures, left in [(0, 0, 1), (0, 0, 2), (0, 0, 16), (3, 1, 5), (0, 7, 9), (5, 0, 11), (1, 2, 3)]:
        expected = slow_bernoulli_index(alpha + successes, beta + failures, left)
        assert abs(found[left - 1, successes, failures] - expected) < min(1e-4, 0.005 * prior_std)


def test_tables_are_laid_out_by_time():
    """The policy's table at (t, cell) is the index with T - t + 1 decisions left."""
    problem = tg.GaussianBandit(prior_std=0.5, noise_std=[2.0, 3.0])
    table = tg.FiniteHorizonGittins().prepare(problem, 5).table
    for arm, noise in enumerate((2.0, 3.0)):
        assert table[arm, 1, 1] == noise * gaussian_bonuses((0.5 / noise) ** 2, 5)[1, 3]
    table = tg.FiniteHorizonGittins().prepare(tg.BernoulliBandit(arms=2), 5).table
    successes, failures = beta_cells(5)
    cell = np.flatnonzero((successes == 2) & (failures == 1))[0]
    assert abs(table[0, 3, cell] - (slow_bernoulli_index(3.0, 2.0, 2) - 3 / 5)) < 1e-4


def test_longer_tables_hold_shorter_ones():
    np.testing.assert_allclose(gaussian_bonuses(2.0, 9)[:4, :3], gaussian_bonuses(2.0, 7)[:4, :3], atol=1e-12)
    np.testing.assert_allclose(bernoulli_indices(1.0, 2.0, 9)[2, :3, :3], bernoulli_indices(1.0, 2.0, 7)[2, :3, :3])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: str(tmp_path / name))
    return tmp_path / "tsgrad"


def counted(calls):
    def compute(horizon):
        calls.append(horizon)
        return np.full((horizon, horizon), 0.5)

    return compute


def test_tables_are_kept(cache):
    calls = []
    for horizon in (5, 5, 3, 8, 5):
        assert kept_table("some", horizon, counted(calls), rank=2)[2, 2] == 0.5
    assert calls == [5, 8]
    assert [path.name for path in cache.iterdir()] == ["some.npz"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:60] + bytes([whole[60] ^ 255]) + whole[61:],
        lambda whole: b"nonsense",
        lambda whole: np.array([1.0]).dumps(),  # a pickle
        lambda whole: archive(table=np.full((5, 5), 0.25)),  # no digest
        lambda whole: archive(table=np.full((5, 5), 0.25), sha256="0" * 64),  # that of another
        lambda whole: archive(table=np.full((5, 5, 5), 0.5), sha256=digest("some", np.full((5, 5, 5), 0.5))),
        lambda whole: archive(table=np.full((5, 5), 0.25), sha256=digest("other", np.full((5, 5), 0.25))),
    ],
)
def test_damaged_files_are_computed_again(cache, damage):
    calls = []
    kept_table("some", 5, counted(calls), rank=2)
    path = cache / "some.npz"
    path.write_bytes(damage(path.read_bytes()))
    np.testing.assert_array_equal(kept_table("some", 5, counted(calls), rank=2), np.full((5, 5), 0.5))
    kept_table("some", 5, counted(calls), rank=2)
    assert calls == [5, 5]


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("bit", range(0, 8000, 97))
def test_no_flipped_bit_is_believed(cache, bit):
    """A bit of the file, wherever it is: the table is that of before, kept or computed."""
    wanted = np.arange(25.0).reshape(5, 5)
    kept_table("some", 5, lambda steps: wanted, rank=2)
    path = cache / "some.npz"
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)
    np.testing.assert_array_equal(kept_table("some", 5, lambda steps: wanted, rank=2), wanted)


def test_a_cache_that_cant_be_written_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: str(tmp_path / "file" / name))
    calls = []
    assert kept_table("some", 5, counted(calls), rank=2).shape == (5, 5)
    assert calls == [5]


def test_the_policy_keeps_its_tables(cache, monkeypatch):
    problem = tg.GaussianBandit(prior_std=[1.0, 2.0, 1.0])
    first = tg.FiniteHorizonGittins().prepare(problem, 6).table
    assert len(os.listdir(cache)) == 2
    monkeypatch.setattr(gittins, "gaussian_bonuses", None)  # nothing is computed from here on
    np.testing.assert_array_equal(tg.FiniteHorizonGittins().prepare(problem, 6).table, first)
    shorter = tg.FiniteHorizonGittins().prepare(problem, 4).table
    np.testing.assert_array_equal(shorter[:, 0, 0], first[:, 2, 0])
