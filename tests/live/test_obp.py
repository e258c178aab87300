"""Off-policy estimates against those of obp, by its own code on its own sample of the Open Bandit Dataset.

`make obp` puts the package into runs/obp. Its estimators need NumPy alone, but their files name PyTorch, pandas and
scikit-learn: empty modules stand in for those that are not there.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.live import read_log

OBP = Path(__file__).parents[2] / "runs" / "obp" / "obp"
pytestmark = pytest.mark.skipif(not OBP.exists(), reason="obp is not there: `make obp` brings it")


@pytest.fixture
def estimators(monkeypatch):
    """The module obp.ope.estimators, without what the packages around it import."""
    for name, folder in (("obp", OBP), ("obp.ope", OBP / "ope")):
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        monkeypatch.setitem(sys.modules, name, package)
    for name, attribute in (
        ("torch", "Tensor"),
        ("pandas", "DataFrame"),
        ("sklearn", None),
        ("sklearn.utils", "check_random_state"),
    ):
        stand_in = ModuleType(name)
        if attribute is not None:
            setattr(stand_in, attribute, type(attribute, (), {}))
        monkeypatch.setitem(sys.modules, name, stand_in)
    yield importlib.import_module("obp.ope.estimators")
    for name in ("obp.ope.estimators", "obp.utils"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("behaviour", ["random", "bts"])
def test_estimates_are_those_of_obp(estimators, behaviour):
    log = read_log(OBP / "dataset" / "obd" / behaviour / "men" / "men.csv")
    names, action = np.unique(log["item_id"].astype(str), return_inverse=True)
    reward, propensity = log["click"].astype(float), log["propensity_score"].astype(float)
    rows, arms = len(reward), len(names)
    generator = np.random.default_rng(0)
    target = generator.dirichlet(np.ones(arms), rows)
    model = generator.random((rows, arms))
    mine = tg.evaluate_log(
        {"arm": log["item_id"], "reward": reward, "propensity": propensity}, target=target, reward_model=model
    ).estimates
    given = {"reward": reward, "action": action, "pscore": propensity, "action_dist": target[..., None]}
    theirs = {
        "inverse propensity": estimators.InverseProbabilityWeighting().estimate_policy_value(**given),
        "self-normalised": estimators.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**given),
        "doubly robust": estimators.DoublyRobust().estimate_policy_value(
            **given, estimated_rewards_by_reg_model=model[..., None]
        ),
    }
    for name, value in theirs.items():
        assert abs(mine[name].value - value) < 1e-9, name
