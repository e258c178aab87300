"""Malformed requests, policy files, ledgers and logs from a seed: nothing crashes, nothing is executed or lost.

    python benchmarks/live_fuzz.py [--requests 10000] [--files 2000]

Prints what came of each, and writes it to a file.
"""

import argparse
import collections
import sys
import tempfile
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from measure import write
from tsgrad_runtime.admission import Tokens
from tsgrad_runtime.artefact import artefact_of
from tsgrad_runtime.experiment import Experiment, rebuilt
from tsgrad_runtime.inspection import inspected
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.service import application

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "runtime"))
from fuzzed import is_refused, requests, whole_files

CONTENT = {
    "policy": {"kind": "thompson"},
    "problem": {"kind": "bernoulli", "alpha": [1.0] * 3, "beta": [1.0] * 3},
    "horizon": 1000,
}


def ask(folder, generator, count):
    """Statuses of so many requests; the ledger must be whole after them."""
    ledger = Ledger(f"sqlite:///{folder}/ledger.db")
    app = application(Experiment(artefact_of(CONTENT, "fuzz"), ledger), Tokens("to decide", "to rule"))
    statuses = collections.Counter()
    with TestClient(app, raise_server_exceptions=False) as client:
        for method, path, headers, content in requests(generator, count):
            statuses[client.request(method, path, headers=headers, content=content).status_code] += 1
    made = sum(event.kind == "decision" for _, event in ledger.all_events())
    print(f"{count} requests: {dict(statuses)}; {made} decisions, faults {inspected(ledger).faults}")
    assert max(statuses) < 500
    assert rebuilt(ledger).steps <= made
    ledger.close()
    return {"cases": count, "by status": dict(sorted(statuses.items())), "decisions": made}


def read(folder, generator, count):
    """Damaged policy files, ledgers and logs are read as what they were, or refused in one line."""
    results = {}
    for name, (path, reader) in whole_files(folder, generator).items():
        refused = sum(is_refused(path, reader, generator) for _ in range(count))
        results[f"damaged {name}"] = {"cases": count, "refused": refused}
        print(f"{count} damaged copies of {name}: {refused} refused, the others read")
    return results


def main():
    """Asks and reads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=2000)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        asked = ask(Path(name), generator, options.requests)
        write("live fuzz", {"requests": asked, **read(Path(name), generator, options.files)})


if __name__ == "__main__":
    main()
