"""The runtime decides as the simulator does: the same arms for the same noise, whatever the policy."""

import pytest

import tsgrad as tg
from replays import POLICIES, PROBLEMS, has_exact_shares, moved, played, replayed, shares_apart
from tsgrad.registry import kinds, registered_class
from tsgrad_runtime import policies
from tsgrad_runtime.artefact import read_artefact
from tsgrad_runtime.policies import Scene
from tsgrad_runtime.streams import Noise, Purpose, Stream

pytestmark = pytest.mark.formulas


# One of each kind; the others, with what is compiled for them, are for rare occasions.
KINDS = (
    "reshaped, gaussian",
    "reshaped, bernoulli",
    "reshaped, contexts",
    "bonus, bernoulli",
    "recurrent, free",
    "SoftElim",
    "successive elimination",
)
SHARED_OUT = ("reshaped, bernoulli", "successive elimination")


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[] if name in KINDS else [pytest.mark.long]) for name in POLICIES]
)
def test_replays_have_the_same_arms(case, tmp_path):
    """Beliefs of 24 episodes of six steps; `benchmarks/runtime.py` looks at 10,000."""
    beliefs, different = replayed(case, tmp_path / "policy.json", horizon=6, episodes=24)
    assert (beliefs, different) == (144, 0)


AT_ONCE = [
    "thompson, gaussian",
    "thompson, bernoulli",
    "thompson, poisson",
    "thompson, unknown variance",
    "thompson, linear",
    "reshaped, gaussian",
    "reshaped, bernoulli",
    "reshaped, poisson",
    "reshaped, unknown variance",
    "scaled, poisson",
    "satisficing",
    "top two",
]
TABLED_AT_ONCE = ["bayes ucb, gaussian", "relaxation"]  # whose files grow with the horizon


@pytest.mark.parametrize(
    ("case", "horizon"), [*((case, 550) for case in AT_ONCE), *((case, 40) for case in TABLED_AT_ONCE)]
)
def test_decisions_from_one_belief_are_those_made_one_by_one(case, horizon, tmp_path):
    """Draws are made for several decisions to come; the first numbers here end amid those drawn at once."""
    name, build = POLICIES[case]
    policy = moved(build(PROBLEMS[name]), 0)
    tg.write_policy(tmp_path / "policy.json", policy, problem=PROBLEMS[name], horizon=horizon)

    def artefact():
        return read_artefact(tmp_path / "policy.json")

    def noise():
        return Noise.of(seed=0, purpose=Purpose.EVALUATION, stream=Stream.POLICY)

    model, policy, same = artefact().model, artefact().policy, noise()
    scene = Scene(model, model.prior(), policy.start(model), getattr(model, "features", None), None, 1, horizon)
    scenes = {number: scene._replace(t=min(number, horizon)) for number in range(1, horizon + 50)}
    together = [policy.arm(scene, same, number) for number, scene in scenes.items()]
    some = [*range(1, 80), *range(max(80, horizon - 50), horizon + 49)]
    apart = [artefact().policy.arm(scenes[number], noise(), number) for number in some]
    assert apart == [together[number - 1] for number in some]
    assert len(set(together)) > 1


def test_floors_leave_the_same_decisions_to_chance(tmp_path):
    beliefs, different = replayed("reshaped, gaussian", tmp_path / "policy.json", horizon=6, episodes=24, floor=0.2)
    assert (beliefs, different) == (144, 0)


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[] if name in SHARED_OUT else [pytest.mark.long]) for name in POLICIES]
)
def test_propensities_are_the_simulators(case, tmp_path):
    found = played(case, tmp_path / "policy.json", horizon=6, episodes=8)
    if has_exact_shares(found):
        assert shares_apart(found) < 1e-6
    else:
        assert case not in SHARED_OUT


def test_every_policy_that_can_be_saved_is_played_or_refused_with_a_reason():
    ours = (name for name in kinds(tg.Policy) if registered_class(name).__module__.startswith("tsgrad."))
    assert set(ours) == set(policies.POLICIES) | set(policies.NOT_PLAYED)


def test_a_policy_that_cannot_be_played_is_not_written(tmp_path):
    with pytest.raises(tg.BadInput, match="can't be played: it integrates"):
        tg.write_policy(
            tmp_path / "policy.json", tg.InformationDirected(), problem=tg.GaussianBandit(arms=2), horizon=5
        )
    for problem in (
        tg.DriftingArms(base=tg.GaussianBandit(arms=2), step_std=0.1),
        tg.UncertainPrior(base=tg.BernoulliBandit(arms=2), values=[[1.0, 1.0], [2.0, 2.0]]),
    ):
        with pytest.raises(tg.BadInput, match="problem"):
            tg.write_policy(tmp_path / "policy.json", tg.Uniform(), problem=problem, horizon=5)
    assert not list(tmp_path.iterdir())
