"""Policies, in NumPy: one class for each that `tsgrad` saves, deciding as the simulator does for the same noise."""

from typing import Any

from tsgrad_runtime.checks import BadInput, check_choice
from tsgrad_runtime.models import Model
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

__all__ = ["Policy", "Scene", "policy_of"]

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
    except (TypeError, AttributeError, KeyError, IndexError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"policy (kind {kind!r}) can't be made from its fields: {error!s:.120}") from None
    return policy
