"""Policy files, logs and ledgers with replaced bytes: read as what they were, or refused in one line."""

import numpy as np
import pytest

from fuzzed import is_refused, whole_files


@pytest.mark.parametrize("name", ["policy.json", "log.csv", "ledger.db"])
def test_damaged_files_are_read_or_refused(name, tmp_path):
    """Two hundred of them; `benchmarks/live_fuzz.py` reads 2,000 of each."""
    generator = np.random.default_rng(0)
    path, reader = whole_files(tmp_path, generator)[name]
    reader(path)
    refused = sum(is_refused(path, reader, generator) for _ in range(200))
    assert refused > 0
