"""The natural gradient: its matrix, its steps, and steps that are taken back."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.training.optimizer import natural
from tsgrad.training.settings import TrainingSettings

PROBLEM = tg.GaussianBandit(prior_mean=[0.3, 0.0], prior_std=[1.0, 0.6], noise_std=[1.0, 2.0])


def _expected_scores(location, scale, threshold, below):
    """In location and log scale, of a normal arm cut off at a threshold."""
    cut = (threshold - location) / scale
    residual = np.where(below, -1.0, 1.0) * np.exp(
        stats.norm.logpdf(cut) - np.where(below, stats.norm.logcdf(cut), stats.norm.logsf(cut))
    )
    return np.array([residual / scale, cut * residual])


def _exact_fisher():
    """E s s' at T = 1 in (prior_mean, half of log_prior_variance) of both arms, over who is above the other.

    The outer integral is over the loser, the inner over the winner above it, each by Gauss's rule.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    total = np.zeros((4, 4))
    location, scale = PROBLEM.prior_mean, PROBLEM.prior_std
    for winner, loser in ((0, 1), (1, 0)):
        low, high = location[loser] - 9 * scale[loser], location[loser] + 9 * scale[loser]
        top = max(location + 9 * scale)
        for node, weight in zip(nodes, weights, strict=True):
            second = low + (node + 1) / 2 * (high - low)
            if second >= top:
                continue
            best = second + (nodes + 1) / 2 * (top - second)
            density = (
                weight * (high - low) / 2 * stats.norm.pdf(second, location[loser], scale[loser])
                * weights * (top - second) / 2 * stats.norm.pdf(best, location[winner], scale[winner])
            )  # fmt: skip
            scores = np.zeros((2, 2, len(nodes)))
            scores[winner] = _expected_scores(location[winner], scale[winner], np.full_like(best, second), False)
            scores[loser] = _expected_scores(location[loser], scale[loser], best, True)
            rows = scores.reshape(4, -1)
            total += (rows * density) @ rows.T
    return total


@pytest.mark.parametrize("engine", ["jax", "native"])
def test_the_fisher_matrix_is_exact_at_one_step(engine):
    """Ten different entries; with 60,000 episodes and the spread of products, a false alarm once in 1,000 seeds."""
    policy = tg.ReshapedThompson(PROBLEM)
    found = tg.gradient(
        PROBLEM, policy, tg.Estimator("mean", "oracle"), horizon=1, episodes=60_000, seed=2, engine=engine, fisher=True
    )
    assert found.names[:4] == ("prior_mean[0]", "prior_mean[1]", "log_prior_variance[0]", "log_prior_variance[1]")
    order, units = [0, 2, 1, 3], np.array([1.0, 2.0, 1.0, 2.0])  # half a logarithm of a variance is one of a deviation
    matrix = found.fisher[np.ix_(order, order)] * np.outer(units, units)
    exact = _exact_fisher()
    # Products of scores that are within a few standard deviations: their spread is below three times their size.
    error = 3 * np.sqrt(np.outer(np.diag(exact), np.diag(exact)) / 60_000)
    np.testing.assert_array_less(np.abs(matrix - exact), z_bound(10) * error)
    np.testing.assert_allclose(found.fisher[4:, :], 0, atol=1e-12)  # nothing was seen, and no time has passed


def test_single_steps_give_the_same_matrix():
    """Over 200,000 episodes, within five parts in a hundred: two estimates of one matrix."""
    policy = tg.BonusThompson(PROBLEM, degree=1)
    whole, single = (
        tg.gradient(
            PROBLEM,
            policy,
            tg.Estimator("mean", "oracle", single_time=single),
            horizon=5,
            episodes=200_000,
            seed=3,
            fisher=True,
        ).fisher
        for single in (False, True)
    )
    np.testing.assert_allclose(single, whole, atol=0.05 * np.max(whole))


def test_a_step_has_the_length_asked_for():
    """No meta-parameter moves by more than half a unit, whatever the matrix says."""
    with jax.enable_x64(True):
        fisher = jnp.array([[4.0, 1.0], [1.0, 3.0]])
        gradient = jnp.array([0.5, -2.0])
        optimizer = natural(0.7, damping=0.0)
        step, state = optimizer.update(gradient, optimizer.init(jnp.zeros(2)), fisher=fisher)
        assert float(jnp.sqrt(step @ fisher @ step)) == pytest.approx(0.7)
        wanted = -jnp.linalg.solve(fisher, gradient)
        assert float(step @ fisher @ wanted) == pytest.approx(0.7 * float(jnp.sqrt(wanted @ fisher @ wanted)))
        jump, _ = optimizer.update(gradient, optimizer.init(jnp.zeros(2)), fisher=jnp.diag(jnp.array([1.0, 1e-6])))
        assert float(jnp.max(jnp.abs(jump))) == pytest.approx(0.5)
        still, _ = optimizer.update(jnp.zeros(2), optimizer.init(jnp.zeros(2)), fisher=fisher)
        assert np.all(np.asarray(still) == 0)
        unused, _ = optimizer.update(gradient, state, fisher=jnp.zeros((2, 2)))
        assert np.all(np.isfinite(unused))


def test_what_hurts_is_taken_back(monkeypatch):
    """After a step to a bad policy, the run goes back to the best one, and trusts its steps half as much."""
    from tsgrad.training import trainer

    problem = tg.BernoulliBandit(arms=5)
    policy = tg.BonusThompson(problem)
    sound, steps = trainer.estimated_gradient, []

    def astray(engine, policy, workload):
        found = sound(engine, policy, workload)
        return found._replace(mean=-found.mean) if workload.iteration < 4 else found

    def remembered(state):
        steps.append(state)
        return shortened(state)

    shortened = trainer.with_less_trust
    monkeypatch.setattr(trainer, "estimated_gradient", astray)
    monkeypatch.setattr(trainer, "with_less_trust", remembered)
    run = tg.train(
        problem, policy, horizon=10, episodes=300, iterations=6, check_every=2, validation_episodes=4096, seed=0,
        progress=False,
    )  # fmt: skip
    start = np.concatenate([np.ravel(value) for value in run.start.meta_parameters().values()])
    # Rows describe a policy before its update; the state checked at iteration 2 was taken back to the start.
    assert len(steps) == 2
    for iteration in (2, 4):
        taken_back = run.history[iteration].meta_parameters
        np.testing.assert_array_equal(np.concatenate([np.ravel(taken_back[name]) for name in taken_back]), start)


def test_more_parameters_than_a_matrix_is_for():
    from tsgrad.training.settings import TrainingSettings

    few, many = (TrainingSettings(horizon=5).for_parameters(count) for count in (500, 501))
    assert (few.optimizer, few.iterations) == ("natural", 60)
    assert (many.optimizer["name"], many.iterations, many.learning_rate) == ("adam", 1000, 0.05)
    said = TrainingSettings(horizon=5, iterations=7, optimizer="natural").for_parameters(1000)
    assert (said.optimizer, said.iterations) == ("natural", 7)


def test_a_warm_up_is_where_training_starts(tmp_path):
    """Stopped within it, between, or after, too; the start is that of the warm-up."""
    shorter = tg.train(PROBLEM, horizon=4, iterations=4, episodes=128, validation_episodes=128, check_every=2)
    longer = {"horizon": 12, "warm_up": 4, "episodes": 256, "validation_episodes": 512}
    longer |= {"iterations": 10, "check_every": 2}
    told = []
    run = tg.train(PROBLEM, out=tmp_path / "whole", progress=told.append, **longer)
    assert told == list(range(1, 15))
    assert run.history[0].meta_parameters == _lists(shorter.trained)
    (warm_up,) = run.warm_up
    assert warm_up.history == shorter.history
    assert run.start.meta_parameters()["bonus"].tolist() == shorter.start.meta_parameters()["bonus"].tolist()
    for moment in (2, 4, 8):
        stopped = tmp_path / f"stopped-{moment}"
        with pytest.raises(KeyboardInterrupt):
            tg.train(PROBLEM, out=stopped, progress=functools.partial(_stop_after, moment), **longer)
        assert (stopped / "checkpoint.npz").exists() == (moment > 4)
        resumed = tg.resume(stopped)
        assert _files(stopped) == _files(tmp_path / "whole")
        assert [one.history for one in resumed.warm_up] == [shorter.history]
    killed = tmp_path / "killed"
    killed.mkdir()
    (killed / "config.toml").write_text((tmp_path / "whole" / "config.toml").read_text())
    tg.resume(killed)
    assert _files(killed) == _files(tmp_path / "whole")


def _stop_after(moment, done):
    if done == moment:
        raise KeyboardInterrupt


def _lists(policy):
    return {name: value.tolist() for name, value in policy.meta_parameters().items()}


def _files(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "checkpoint.npz")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_only_long_horizons_warm_up():
    left_open = [TrainingSettings(horizon=horizon).warmed_up() for horizon in (200, 500, 10_000)]
    assert [settings.warm_up for settings in left_open] == [None, 166, 3333]
    ladder = left_open[-1].of_warm_up()
    assert [shorter.horizon for shorter in ladder] == [123, 370, 1111, 3333]
    sizes = {(shorter.iterations, shorter.episodes, shorter.validation_episodes) for shorter in ladder}
    assert (sizes, {shorter.warm_up for shorter in ladder}) == ({(24, 500, 4096)}, {None})
    assert TrainingSettings(horizon=3000, warm_up=None).warmed_up().of_warm_up() == []
    with pytest.raises(tg.BadInput, match="warm_up must be shorter than the horizon 10, got 10"):
        tg.train(PROBLEM, horizon=10, warm_up=10)
