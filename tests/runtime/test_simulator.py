"""The runtime decides as the simulator does: the same arms for the same noise, whatever the policy."""

import pytest

from replays import POLICIES, replayed

pytestmark = pytest.mark.formulas


# One of each kind; the others, with what is compiled for them, are for rare occasions.
KINDS = (
    "reshaped, gaussian",
    "reshaped, bernoulli",
    "reshaped, contexts",
    "bonus, bernoulli",
    "recurrent, free",
    "SoftElim",
)


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[] if name in KINDS else [pytest.mark.long]) for name in POLICIES]
)
def test_replays_have_the_same_arms(case, tmp_path):
    """Beliefs of 24 episodes of six steps; `benchmarks/runtime.py` looks at 10,000."""
    beliefs, different = replayed(case, tmp_path / "policy.json", horizon=6, episodes=24)
    assert (beliefs, different) == (144, 0)


def test_floors_leave_the_same_decisions_to_chance(tmp_path):
    beliefs, different = replayed("reshaped, gaussian", tmp_path / "policy.json", horizon=6, episodes=24, floor=0.2)
    assert (beliefs, different) == (144, 0)
