"""`tsgrad engines`."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def engines() -> None:
    """Shows which engines and which workers can be used on this machine, and for what."""
    from tsgrad.simulation import all_workers
    from tsgrad.simulation import engines as all_engines

    for kind, reports in (("engine", all_engines()), ("workers", all_workers())):
        table = Table(kind, "available", "detail")
        for report in reports:
            table.add_row(report.name, "yes" if report.available else "no", escape(report.detail))
        Console().print(table)
