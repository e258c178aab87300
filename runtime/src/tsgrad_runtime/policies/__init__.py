"""Policies, in NumPy: one class for each that `tsgrad` saves, deciding as the simulator does for the same noise."""

from typing import Any

import numpy as np

from tsgrad_runtime.checks import BadInput, check_choice
from tsgrad_runtime.models import Model, NormalPrior
from tsgrad_runtime.policies.allocating import (
    ABTest,
    BatchKnowledgeGradient,
    ExploreThenCommit,
    ResidualHorizon,
    SuccessiveElimination,
)
from tsgrad_runtime.policies.base import Policy, Scene
from tsgrad_runtime.policies.bonus import Bonus
from tsgrad_runtime.policies.recurrent import RL2, Recurrent
from tsgrad_runtime.policies.relaxation import RelaxationSampling
from tsgrad_runtime.policies.reshaped import (
    ReshapedBernoulli,
    ReshapedEvidence,
    ReshapedGaussian,
    ReshapedNormal,
    Thompson,
)
from tsgrad_runtime.policies.rivals import (
    Greedy,
    Index,
    KnowledgeGradient,
    NormalQuantile,
    SatisficingThompson,
    ScaledThompson,
    SoftElim,
    TopTwoThompson,
    Uniform,
)
from tsgrad_runtime.streams import Noise, Purpose, Stream

__all__ = ["Policy", "Scene", "check_played", "policy_of"]

_MOST_TRIED = 64  # arms with which a policy is tried: shares take milliseconds then
# What numbers of wrong shapes, or of the wrong size, raise when they are computed with.
_WRONG = (TypeError, AttributeError, AssertionError, LookupError, ValueError, ArithmeticError)

POLICIES: dict[str, type[Any]] = {
    "thompson": Thompson,
    "reshaped-gaussian": ReshapedGaussian,
    "reshaped-bernoulli": ReshapedBernoulli,
    "reshaped-evidence": ReshapedEvidence,
    "reshaped-normal": ReshapedNormal,
    "bonus": Bonus,
    "recurrent": Recurrent,
    "rl2": RL2,
    "soft-elim": SoftElim,
    "index": Index,
    "greedy": Greedy,
    "uniform": Uniform,
    "normal-quantile": NormalQuantile,
    "knowledge-gradient": KnowledgeGradient,
    "scaled-thompson": ScaledThompson,
    "satisficing-thompson": SatisficingThompson,
    "top-two-thompson": TopTwoThompson,
    "ab-test": ABTest,
    "explore-then-commit": ExploreThenCommit,
    "successive-elimination": SuccessiveElimination,
    "batch-knowledge-gradient": BatchKnowledgeGradient,
    "residual-horizon": ResidualHorizon,
    "relaxation-sampling": RelaxationSampling,
}
NOT_PLAYED = {
    "information-directed": "it integrates over the best arm at every decision, which is for simulation alone",
    "beta-quantile": "its table would be too large for the horizon: use a shorter one",
    "bayes-ucb": "its table is not in the file: write it with tsgrad.write_policy",
    "optimistic-gittins": "its table is not in the file: write it with tsgrad.write_policy",
    "finite-horizon-gittins": "its table is not in the file: write it with tsgrad.write_policy",
}


def policy_of(data: dict[str, Any], model: Model, horizon: int) -> Policy:
    """The policy that an artefact describes, made ready for its problem and horizon."""
    kind = data.get("kind")
    if isinstance(kind, str) and kind in NOT_PLAYED:
        raise BadInput(f"policy {kind!r} can't be played: {NOT_PLAYED[kind]}")
    kind = check_choice("policy.kind", kind, POLICIES)  # type: ignore[arg-type]
    if model.arms is None and not POLICIES[kind].plays_vectors:
        raise BadInput(f"policy {kind!r} needs a problem with finitely many arms, got a ball")
    try:
        policy: Policy = POLICIES[kind](**{name: value for name, value in data.items() if name != "kind"})
        policy.prepare(model, horizon)
    except _WRONG as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"policy (kind {kind!r}) can't be made from its fields: {error!s:.120}") from None
    return policy


def check_played(policy: Policy, model: Model, horizon: int) -> None:
    """Tries one decision with its shares and its reward, so that what can't be played is refused before it is served.

    Not of policies that plan, whose decisions take long, nor with many arms.
    """
    if policy.plans or (model.arms or 0) > _MOST_TRIED:
        return
    features = model.features
    if features is None and isinstance(model, NormalPrior) and model.arms is not None:
        features = np.ones((model.arms, len(model.prior_mean)))
    elif features is not None and features.ndim == 3:
        features = features[0]
    try:
        with np.errstate(all="ignore"):
            scene = Scene(model, model.prior(), policy.start(model), features, None, 1, horizon)
            noise = Noise.of(seed=0, purpose=Purpose.DEPLOYMENT, stream=Stream.POLICY)
            for number in (1, 2):
                arm = policy.arm(scene, noise, number)
                _check_shares(policy, scene)
                scene = scene._replace(memory=policy.remember(model, scene.memory, features, arm, 0.0))
    except _WRONG as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"policy can't play this problem: {error!s:.120}") from None


def _check_shares(policy: Policy, scene: Scene) -> None:
    if scene.model.arms is None:
        return
    shares = policy.shares(scene, np.random.default_rng(0))
    if shares.shape != (scene.model.arms,) or not (np.all(shares >= 0) and abs(np.sum(shares) - 1) < 1e-6):
        raise BadInput(f"policy gives arms the chances {shares!s:.80}, which are none: train it again")
