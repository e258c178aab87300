"""How kernels are called: fields by name, parameters by name, from any block on, and what happens without memory."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import tsgrad as tg
from tsgrad import native
from tsgrad.policies import parameter_names

GAUSSIAN = tg.GaussianBandit(prior_mean=[0.0, 0.2, -0.3], prior_std=[1.0, 0.8, 1.2], noise_std=[1.0, 0.4, 2.0])
BERNOULLI = tg.BernoulliBandit(alpha=[1.0, 2.0, 0.5], beta=[1.0, 1.5, 2.0])
WHERE = {"horizon": 5, "seed": 1, "purpose": tg.Purpose.TRAINING, "iteration": 0, "precision": "float64"}
PAIR = {"metric": "mean", "baseline": "self", "rollouts": 2, "single_time": False}


def gradients(kernel, episodes, **options):
    blocks = native.gradient_blocks(kernel, episodes=episodes, every_episode=True, **{**WHERE, **PAIR, **options})
    return np.concatenate([np.concatenate(part["every_episode"]) for part in blocks])


def kernel_of(bandit, **changes):
    kernel = native.kernel_for(bandit, tg.ReshapedThompson(bandit))
    return kernel._replace(**{name: {**getattr(kernel, name), **fields} for name, fields in changes.items()})


def without(kernel, owner, field):
    left = {name: value for name, value in getattr(kernel, owner).items() if name != field}
    return kernel._replace(**{owner: left})


@pytest.mark.parametrize("problem", [GAUSSIAN, BERNOULLI], ids=["gaussian", "bernoulli"])
def test_fields_go_by_name(problem):
    """The order in which fields are given changes nothing; that of the parameters is the order of the gradient."""
    kernel = kernel_of(problem)
    turned = kernel._replace(
        problem=dict(reversed(kernel.problem.items())),
        policy=dict(reversed(kernel.policy.items())),
        parameters=kernel.parameters[::-1],
    )
    one, other = gradients(kernel, 300), gradients(turned, 300)
    pieces = np.split(one, len(kernel.parameters), axis=1)
    np.testing.assert_array_equal(np.concatenate(pieces[::-1], axis=1), other)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("shared", [False, True])
def test_parameters_are_in_the_order_of_the_policy(shared):
    problem = tg.BernoulliBandit(arms=3)
    policy = tg.ReshapedThompson(problem, shared=shared)
    kernel = native.kernel_for(problem, policy)
    names = parameter_names(policy)
    assert gradients(kernel, 256).shape == (256, len(names))
    stems = [stem for stem, _ in itertools.groupby(name.partition("[")[0] for name in names)]
    assert list(kernel.parameters) == stems


def test_a_part_of_the_parameters():
    """What isn't asked for is left out; a gradient in nothing has no columns, and a regret all the same."""
    kernel = kernel_of(GAUSSIAN)
    whole, part = gradients(kernel, 300), gradients(kernel._replace(parameters=("decay", "prior_mean")), 300)
    np.testing.assert_array_equal(part, np.concatenate([whole[:, 9:], whole[:, :3]], axis=1))
    assert gradients(kernel._replace(parameters=()), 300).shape == (512, 0)


def test_shared_parameters_are_sums_over_arms():
    """A field that arms share has one number, and the sum of their scores."""
    problem = tg.GaussianBandit(arms=4, noise_std=0.8)
    alone, shared = (native.kernel_for(problem, tg.ReshapedThompson(problem, shared=one)) for one in (False, True))
    mixed = alone._replace(policy={**alone.policy, "decay": shared.policy["decay"]})
    one, all_shared, some = gradients(alone, 300), gradients(shared, 300), gradients(mixed, 300)
    np.testing.assert_allclose(all_shared, one.reshape(-1, 4, 4).sum(axis=2), atol=1e-12)
    np.testing.assert_array_equal(some[:, :12], one[:, :12])
    np.testing.assert_array_equal(some[:, 12], all_shared[:, 3])


@pytest.mark.parametrize("problem", [GAUSSIAN, BERNOULLI], ids=["gaussian", "bernoulli"])
def test_gradients_from_any_block_on(problem):
    """Parts are the episodes of one whole: blocks 1 and 2 of three, the last one not full."""
    kernel = kernel_of(problem)
    whole, part = gradients(kernel, 700), gradients(kernel, 700, first_block=1)
    np.testing.assert_array_equal(part, whole[256:])
    (moments,) = native.gradient_blocks(kernel, episodes=700, first_block=2, **WHERE, **PAIR)
    assert moments["count"].tolist() == [700 - 512]
    np.testing.assert_allclose(moments["mean"][0], whole[512:700].mean(axis=0), atol=1e-12)


BAD = {
    "missing, problem": (
        without(kernel_of(GAUSSIAN), "problem", "noise_std"),
        "problem field 'noise_std' is missing; there are: prior_mean, prior_std",
    ),
    "missing, policy": (
        without(kernel_of(BERNOULLI), "policy", "decay"),
        "policy field 'decay' is missing; there are: log_alpha, log_beta, log_evidence_weight",
    ),
    "shape": (
        kernel_of(GAUSSIAN, policy={"decay": np.zeros(2)}),
        r"policy field 'decay' must have shape \[3\] or \[\], got \[2\]",
    ),
    "axes": (
        kernel_of(GAUSSIAN, policy={"decay": np.zeros((3, 1))}),
        r"policy field 'decay' must have shape \[3\] or \[\], got \[3, 1\]",
    ),
    "no arms": (
        kernel_of(GAUSSIAN, problem={"prior_mean": np.zeros(0)}),
        r"problem field 'prior_mean' must have shape \[K\] with K from 1 to 67108864, got \[0\]",
    ),
    "unknown": (
        kernel_of(GAUSSIAN, policy={"dekay": np.zeros(3)}),
        "policy field 'dekay' is unknown to this kernel",
    ),
    "type": (
        kernel_of(GAUSSIAN, policy={"decay": np.zeros(3, np.float32)}),
        "policy field 'decay' must be a float64 array in C order",
    ),
    "order": (
        kernel_of(GAUSSIAN, policy={"decay": np.zeros(6)[::2]}),
        "policy field 'decay' must be a float64 array in C order",
    ),
    "parameter": (
        kernel_of(GAUSSIAN)._replace(parameters=("noise_std",)),
        "policy field 'noise_std' has no score in this kernel",
    ),
    "law": (
        kernel_of(GAUSSIAN)._replace(law="reshaped-beta"),
        "there is no kernel for the law 'reshaped-beta' over arms 'gaussian'",
    ),
    "no score": (
        native.kernel_for(GAUSSIAN, tg.IndexPolicy(table=np.zeros((1, 1, 5)))),
        "the law 'index' has no score, hence no gradient",
    ),
}


@pytest.mark.parametrize(("kernel", "message"), BAD.values(), ids=BAD)
def test_wrong_fields(kernel, message):
    with pytest.raises(ValueError, match=message):
        gradients(kernel, 10)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            {"table": np.zeros((2, 5, 5))},
            r"'table' must have shape \[3 or 1, 5 or 1, 5\], got \[2, 5, 5\]",
        ),
        (
            {"spread": np.zeros((1, 1, 4))},
            r"'spread' must have shape \[3 or 1, 5 or 1, 5\], got \[1, 1, 4\]",
        ),
    ],
)
def test_wrong_tables(policy, message):
    kernel = native.kernel_for(GAUSSIAN, tg.IndexPolicy(table=np.zeros((1, 1, 5))))
    wrong = kernel._replace(policy={**kernel.policy, **policy})
    with pytest.raises(ValueError, match=message):
        list(native.simulation_blocks(wrong, episodes=10, **WHERE))


def test_no_kernel_where_there_is_none():
    assert native.kernel_for(tg.GaussianBandit(arms=2), tg.Greedy()) is None
    assert native.kernel_for(tg.PoissonBandit(arms=2), tg.Thompson()) is None
    drifting = tg.Misspecified(truth=tg.DriftingArms(base=GAUSSIAN, step_std=0.1), model=GAUSSIAN)
    assert native.kernel_for(drifting, tg.Thompson()) is None


LITTLE_MEMORY = """
import resource
from pathlib import Path
import tsgrad as tg
from tsgrad import native
problem = tg.GaussianBandit(arms={arms})
kernel = native.kernel_for(problem, tg.ReshapedThompson(problem))
where = dict(horizon=2, seed=0, purpose=tg.Purpose.TRAINING, iteration=0, precision="float32", threads=3, **{pair})
native.compiled()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + {megabytes} * 2**20, hard))
try:
    list(native.gradient_blocks(kernel, episodes=1000, **where))
except MemoryError:
    print("MemoryError")
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
small = native.kernel_for(tg.GaussianBandit(arms=2), tg.Thompson())
print(len(list(native.gradient_blocks(small, episodes=10, **where))))
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are told by /proc")
@pytest.mark.parametrize(("arms", "megabytes"), [(10**6, 400), (2, 4)], ids=["within a thread", "for a thread"])
def test_a_lack_of_memory_is_an_error_of_python(arms, megabytes):
    """And the process lives on. A worker of a million arms takes a gigabyte, a thread's stack eight megabytes."""
    code = LITTLE_MEMORY.format(arms=arms, megabytes=megabytes, pair=PAIR)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "MemoryError\n1\n"), result.stderr
