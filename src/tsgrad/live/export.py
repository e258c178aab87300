"""A ledger as a table: one row per decision, with its reward where one has come."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsgrad.artefact import write_whole
from tsgrad.checks import BadInput, check_path, needs_extra

if TYPE_CHECKING:
    from tsgrad_runtime.ledger import Ledger

_COLUMNS = ("decision", "at", "arm", "propensity", "available", "features", "policy", "reward", "reward_at", "default")


def exported(ledger: "Ledger") -> dict[str, list[Any]]:
    """Columns by name. Choices that were never shown are left out."""
    rows: dict[str, dict[str, Any]] = {}
    shown: dict[str, bool] = {}
    for number, event in ledger.all_events():
        name = event.decision
        if name is None:
            continue
        if event.kind != "decision" and name not in rows:
            raise BadInput(
                f"ledger {ledger.name}: the decision of event {number} is missing: see what `tsgrad ledger check` says,"
                " and restore it from a copy"
            )
        if event.kind == "decision":
            shown[name] = event.shown
            rows[name] = {
                **dict.fromkeys(_COLUMNS),
                "decision": name,
                "at": event.at,
                "arm": event.arm if isinstance(event.arm, str) else json.dumps(event.arm),
                "propensity": event.propensity,
                "available": None if event.available is None else json.dumps(event.available),
                "features": None if event.features is None else json.dumps(event.features),
                "policy": event.policy,
            }
        elif event.kind == "activation":
            shown[name] = True
            rows[name]["at"] = event.at
        else:
            rows[name] |= {"reward": event.reward, "reward_at": event.at, "default": event.kind == "default"}
    kept = [row for name, row in rows.items() if shown[name]]
    return {column: [row[column] for row in kept] for column in _COLUMNS}


def export_ledger(ledger: "Ledger", out: str | Path) -> int:
    """Writes all decisions of a ledger with what came of them, a row each.

    Args:
        ledger: such as `tsgrad_runtime.Ledger("sqlite:///experiment.db")`.
        out: the file, Parquet or CSV by the ending of its name.

    Returns:
        How many rows there are.

    Raises:
        BadInput: if the name ends otherwise.

    """
    with needs_extra("live"):
        import pyarrow
        from pyarrow import csv, parquet

    path = check_path("out", out)
    writers = {".parquet": parquet.write_table, ".csv": csv.write_csv}
    if path.suffix not in writers:
        raise BadInput(f"out must end in .parquet or .csv, got {path.name!r:.80}")
    number, text = pyarrow.float64(), pyarrow.string()
    kinds = {"at": number, "propensity": number, "reward": number, "reward_at": number, "default": pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds.get(name, text)) for name in _COLUMNS])
    table = pyarrow.table(exported(ledger), schema=schema)
    write_whole(path, lambda file: writers[path.suffix](table, file))
    return int(table.num_rows)
