"""How often intervals of fitted priors hold the truth: 1,000 logs of each family, 60 arms of 5 to 40 pulls.

    python benchmarks/live_fit.py [--logs 1000]

Prints how many of the intervals hold, by family and parameter, and writes it to a file.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from measure import write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "live"))
from test_fit import drawn, fitted


def main():
    """Prints how many of the intervals hold, by parameter."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000)
    options = parser.parse_args()
    results = {}
    for family in ("bernoulli", "poisson", "gaussian"):
        held = {}
        for seed in range(options.logs):
            log, truth = drawn(family, np.random.default_rng(seed))
            found = fitted(family, log)
            for name, value in truth.items():
                low, high = found.intervals[name]
                held[name] = held.get(name, 0) + (low <= value <= high)
        results |= {f"{family}, {name}": {"logs": options.logs, "held": held[name]} for name in held}
        print(family, {name: f"{count} of {options.logs}" for name, count in held.items()}, flush=True)
    write("live fits", results)


if __name__ == "__main__":
    main()
