"""The native engine: compiled kernels that roll out, score and accumulate in one pass. Arrays in, arrays out.

Kernels exist for the families where people spend their hours: Gaussian and Bernoulli arms under plain and reshaped
Thompson sampling, under the bonus law, and under index policies. They follow the same law of randomness as the JAX
engine.
"""

from tsgrad.native.kernels import (
    BASELINES,
    METRICS,
    Kernel,
    compiled,
    covered,
    gradient_blocks,
    kernel_for,
    processors,
    simulation_blocks,
    why_unavailable,
)

__all__ = [
    "BASELINES",
    "METRICS",
    "Kernel",
    "compiled",
    "covered",
    "gradient_blocks",
    "kernel_for",
    "processors",
    "simulation_blocks",
    "why_unavailable",
]
