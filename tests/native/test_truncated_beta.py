"""What the kernels expect of beta draws above or below a threshold: closed forms, and the law of the JAX engine."""

import shutil
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import digamma, log_expit, polygamma

from tsgrad.laws import BetaLaw

HEADERS = Path(__file__).parents[2] / "src" / "tsgrad" / "native"
MAIN = """
#include <cstdio>
#include "truncated_beta.hpp"
using namespace tsgrad;

// Two arms, the second of which draws the threshold: laws are those of the first.
template <class Real>
void expect(double alpha, double beta, double threshold, bool above) {
  Choice<Real> arm;
  Contest<Real, true> contest(Open{nullptr, 0}, arm);
  contest.offer(0, [&](int) { return above ? Real(1e29) : Real(-1e29); });
  contest.offer(1, [&](int) { return Real(threshold); });
  Lanes<Real> first, second, log_value, log_complement;
  first.fill(Real(alpha)), second.fill(Real(beta));
  TruncatedBeta<Real>(contest, 0, first, second).expect(log_value, log_complement);
  std::printf("%.17g %.17g\\n", double(log_value[kLanes - 1]), double(log_complement[kLanes - 1]));
}

int main(int, char** arguments) {
  double alpha, beta, threshold;
  int above;
  const auto expected = arguments[1][0] == '3' ? expect<float> : expect<double>;
  while (std::scanf("%lf %lf %lf %d", &alpha, &beta, &threshold, &above) == 4) expected(alpha, beta, threshold, above);
}
"""

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truncated")
    (folder / "main.cpp").write_text(MAIN)
    command = ["c++", "-std=c++20", "-O1", "-ffp-contract=off", "-fsanitize=float-cast-overflow", "-I", str(HEADERS)]
    subprocess.run([*command, str(folder / "main.cpp"), "-o", str(folder / "main")], check=True)
    return folder / "main"


def expected(program, bits, *law):
    """E[log x] and E[log(1 - x)] by the kernel, of laws (alpha, beta, threshold, above): [2, n]."""
    rows = "\n".join(" ".join(map(repr, row)) for row in zip(*(np.asarray(one).tolist() for one in law), strict=True))
    rows = rows.replace("True", "1").replace("False", "0")
    done = subprocess.run([program, str(bits)], input=rows, capture_output=True, text=True, check=True)
    assert not done.stderr
    return np.array(done.stdout.split(), float).reshape(-1, 2).T


def single(values):
    """As float32 has them: both precisions are given the same laws."""
    return np.asarray(values, np.float32).astype(np.float64)


def random_laws(low, high, count=300):
    """Counts over decades, thresholds up to hundreds of standard deviations from the mode."""
    generator = np.random.default_rng(3)
    alpha, beta = single(np.exp(generator.uniform(np.log(low), np.log(high), (2, count))))
    scale = np.sqrt((alpha + beta) / (alpha * beta)) * generator.choice([0.3, 1, 5, 30, 100], count)
    threshold = single(np.log(alpha / beta) + scale * generator.standard_normal(count))
    return alpha, beta, threshold, generator.random(count) < 0.5


@pytest.mark.parametrize(("bits", "tolerance"), [(32, 1e-4), (64, 1e-10)])
def test_laws_with_a_closed_form(program, bits, tolerance):
    """Beta(a, 1) below c: E log x = log c - 1 / a; and its mirror image. Where 1 / a is lost in log c, that is all."""
    count, threshold = (one.ravel() for one in np.meshgrid(np.geomspace(0.1, 1e5, 13), np.linspace(-1000, 1000, 41)))
    count, threshold = single(count), single(threshold)
    for sign, above in ((1, False), (-1, True)):
        laws = (np.ones_like(count), count) if above else (count, np.ones_like(count))
        found = expected(program, bits, *laws, sign * threshold, np.full(count.shape, above))
        exact = log_expit(threshold) - 1 / count
        rounding = 4 * np.finfo(np.float32 if bits == 32 else np.float64).eps * np.abs(exact)
        np.testing.assert_array_less(np.abs(found[int(above)] - exact), tolerance / count + rounding)


@pytest.mark.parametrize(("low", "high", "in_64", "in_32"), [(0.1, 1e5, 1e-10, 1e-4), (1e-3, 0.1, 1e-5, 2e-3)])
def test_the_same_as_the_law_on_jax_in_float64(program, low, high, in_64, in_32):
    """Relative to the score and its spread. Tiny counts, whose logits go over hundreds of units, cost digits."""
    alpha, beta, threshold, above = random_laws(low, high)
    with jax.enable_x64(True):
        slopes = jax.jit(
            jax.grad(
                lambda counts: jnp.sum(BetaLaw(*counts).expected_log_prob(jnp.asarray(threshold), jnp.asarray(~above)))
            )
        )((jnp.asarray(alpha), jnp.asarray(beta)))
    of_both = digamma(alpha + beta)
    for bits, tolerance in ((64, in_64), (32, in_32)):
        found = expected(program, bits, alpha, beta, threshold, above)
        for count, slope, ours in zip((alpha, beta), np.asarray(slopes), found, strict=True):
            spread = np.sqrt(polygamma(1, count) - polygamma(1, alpha + beta))
            error = ours - (digamma(count) - of_both) - slope
            lost = 8 * np.finfo(np.float64).eps * np.abs(of_both)  # by the difference of digammas
            np.testing.assert_array_less(np.abs(error), tolerance * (np.abs(slope) + spread) + lost)
