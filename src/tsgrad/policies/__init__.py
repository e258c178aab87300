"""Policies: plain Thompson sampling, and the families that training moves."""

from tsgrad.policies.base import (
    Clock,
    Memoryless,
    Policy,
    SamplingPolicy,
    computed_once,
    load,
    parameter_names,
    parameter_vector,
    prepared,
    split,
    with_parameters,
)
from tsgrad.policies.index import IndexPolicy
from tsgrad.policies.recurrent import RecurrentPolicy, RecurrentThompson
from tsgrad.policies.reshaped import ReshapedThompson
from tsgrad.policies.reshaped_bernoulli import ReshapedBernoulli
from tsgrad.policies.reshaped_evidence import ReshapedEvidence
from tsgrad.policies.reshaped_gaussian import ReshapedGaussian
from tsgrad.policies.reshaped_normal import ReshapedNormal
from tsgrad.policies.shifted import shifted
from tsgrad.policies.thompson import Thompson

__all__ = [
    "Clock",
    "IndexPolicy",
    "Memoryless",
    "Policy",
    "RecurrentPolicy",
    "RecurrentThompson",
    "ReshapedBernoulli",
    "ReshapedEvidence",
    "ReshapedGaussian",
    "ReshapedNormal",
    "ReshapedThompson",
    "SamplingPolicy",
    "Thompson",
    "computed_once",
    "load",
    "parameter_names",
    "parameter_vector",
    "prepared",
    "shifted",
    "split",
    "with_parameters",
]
