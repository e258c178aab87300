"""The paper's settings as data."""

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.experiments import SETTINGS, setting_named

PAIRS = ["obs/null", "mean/null", "bayes/null", "mean/oracle", "mean/self"]


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_settings_are_complete(setting):
    assert list(setting.trained) == PAIRS
    assert list(setting.rivals) == ["TS", "Bayes-UCB", "OGI", "IDS"]
    assert setting.problem.arms == setting.arms
    assert setting.trained["mean/self"].regret < setting.rivals["TS"].regret


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_plain_thompson_sampling_has_the_printed_regret(setting):
    """Within 3 combined standard errors: three comparisons, false alarm 0.8%, and seeds are fixed.

    With noise variances in place of standard deviations the heteroscedastic setting is 30 standard errors off.
    """
    regret = tg.simulate(setting.problem, tg.Thompson(), horizon=setting.horizon, episodes=5000, seed=1).regret
    printed = setting.rivals["TS"]
    combined = np.hypot(printed.standard_error, regret.std() / np.sqrt(len(regret)))
    assert abs(regret.mean() - printed.regret) < 3 * combined


def test_unknown_settings_are_told():
    with pytest.raises(tg.BadInput, match=r"setting must be one of standard, hetero, many, got 'heter' \(did you mean"):
        setting_named("heter")


def test_rivals_that_are_left_out_say_why():
    """Bernoulli arms beyond the size of tables: Bayes-UCB needs none."""
    from tsgrad.evaluate import applicable_rivals

    rivals = applicable_rivals(tg.BernoulliBandit(arms=3), 1000)
    assert list(rivals.ready) == ["Bayes-UCB"]
    assert set(rivals.left_out) == {"OGI", "IDS", "OGI-T", "Gittins", "KG"}
    assert rivals.left_out["Gittins"].reason == "horizon must be smaller for a table of indices"
    assert rivals.left_out["KG"].reason == "policy KnowledgeGradient is not defined for BernoulliBandit"
    assert "; rivals that are: " in str(rivals.left_out["KG"])
