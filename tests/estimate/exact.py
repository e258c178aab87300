"""Expected reward of tiny problems, exactly: what estimators are held against."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from scipy import integrate, special

import tsgrad as tg
from tsgrad.laws import NormalLaw
from tsgrad.policies import Clock, parameter_vector, with_parameters
from tsgrad.problems.bernoulli import BernoulliBelief

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def gaussian_reward(problem, policy, horizon):
    """Two Gaussian arms, one step or two: the choice in closed form, the first reward by quadrature. Differentiable."""

    def choice(belief, t):
        return normal_choice(policy.law(problem, belief, None, tg.Context(), Clock(t, horizon)))

    nothing = problem.prior(horizon)
    first = choice(nothing, 1)
    total = jnp.sum(first * problem.prior_mean)
    if horizon == 1:
        return total
    for arm in (0, 1):
        spread = np.sqrt(problem.prior_std[arm] ** 2 + problem.noise_std[arm] ** 2)

        def second(reward, arm=arm):
            belief = problem.update(nothing, tg.Context(), jnp.asarray(arm), reward)
            return jnp.sum(choice(belief, 2) * problem.posterior_means(belief, tg.Context()))

        total += first[arm] * jnp.sum(WEIGHTS * jax.vmap(second)(problem.prior_mean[arm] + spread * NODES))
    return total


def gaussian_gradient(problem, policy, horizon):
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(lambda moved: gaussian_reward(problem, moved, horizon)))
        return parameter_vector(slope(jax.tree.map(jnp.asarray, policy)))


def normal_choice(law):
    """P(an arm has the larger draw), in closed form."""
    first = jax.scipy.stats.norm.cdf((law.location[0] - law.location[1]) / jnp.sqrt(jnp.sum(law.scale**2)))
    return jnp.stack([first, 1 - first])


def beta_choice(law):
    """P(an arm has the larger draw), by quadrature."""
    (alpha, other_alpha), (beta, other_beta) = np.asarray(law.alpha, float), np.asarray(law.beta, float)
    scale = special.beta(alpha, beta)

    def integrand(x):
        return x ** (alpha - 1) * (1 - x) ** (beta - 1) / scale * special.betainc(other_alpha, other_beta, x)

    value, _ = integrate.quad(integrand, 0, 1, epsabs=1e-12, epsrel=1e-12, limit=400)
    return np.array([value, 1 - value])


def bernoulli_values(problem, policy, horizon, belief=None, t=1):
    """(V, Q [2]) of two Bernoulli arms: every outcome enumerated, every choice by closed form or quadrature."""
    belief = BernoulliBelief(jnp.zeros(2), jnp.zeros(2)) if belief is None else belief
    means = np.asarray(problem.posterior_means(belief, tg.Context()))
    values = means.copy()
    if t < horizon:
        for arm, reward in itertools.product((0, 1), (0.0, 1.0)):
            later = problem.update(belief, tg.Context(), jnp.asarray(arm), jnp.asarray(reward))
            chance = means[arm] if reward else 1 - means[arm]
            values[arm] += chance * bernoulli_values(problem, policy, horizon, later, t + 1)[0]
    law = policy.law(problem, belief, None, tg.Context(), Clock(t, horizon))
    choice = np.asarray(normal_choice(law)) if isinstance(law, NormalLaw) else beta_choice(law)
    return float(choice @ values), values


def bernoulli_gradient(problem, policy, horizon, step=1e-3):
    """Central differences of the enumerated value; their error is below 1e-6 at this step."""
    with jax.enable_x64(True):
        vector = parameter_vector(policy)
        slopes = []
        for direction in np.eye(len(vector)) * step:
            up, down = (
                bernoulli_values(problem, with_parameters(policy, vector + sign * direction), horizon)[0]
                for sign in (1, -1)
            )
            slopes.append((up - down) / (2 * step))
        return np.array(slopes)
