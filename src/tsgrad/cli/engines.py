"""`tsgrad engines`."""

from rich.console import Console
from rich.table import Table


def engines() -> None:
    """Shows which engines can be used on this machine, and for what."""
    from tsgrad.simulation import engines as all_engines

    table = Table("engine", "available", "detail")
    for engine in all_engines():
        table.add_row(engine.name, "yes" if engine.available else "no", engine.detail)
    Console().print(table)
