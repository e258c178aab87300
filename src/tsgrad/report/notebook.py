"""How results show themselves in notebooks: figures to keep, and HTML with a table and a small chart.

Images are part of the HTML and have their own paper, so that they can be read in a light and in a dark notebook.
"""

import base64
import html
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tsgrad.evaluate import Comparison
from tsgrad.evaluate.comparison_formats import html_table
from tsgrad.evaluate.tables import Column, Line, html_text
from tsgrad.policies import SamplingPolicy
from tsgrad.report.charts import ranking
from tsgrad.report.style import figure_bytes
from tsgrad.report.training_charts import Curve, learning_curves
from tsgrad.training import Run, training_curve, validation_curve

_SHOWN_NUMBERS = 8  # of a meta-parameter; with more, the others are counted


def comparison_figure(comparison: Comparison) -> Figure:
    """Policies by regret with 95% confidence intervals, the best one marked, and the limit where it is known."""
    policies = {name: (result.regret, result.standard_error) for name, result in comparison.policies.items()}
    bound = None if comparison.bound is None else comparison.bound.regret
    figure: Figure = ranking(policies, trained=comparison.best, reference=comparison.reference, bound=bound)
    return figure


def run_figure(run: Run) -> Figure:
    """Regret on training batches (line), on validation episodes (circles), and of the policy selected (star)."""
    checks = validation_curve(run.history)
    figure: Figure = learning_curves(
        {"training": Curve.through(training_curve(run.history))},
        rivals={"Thompson sampling": run.plain_regret},
        checks=Curve.through(checks),
        selected=min(checks, key=lambda check: check[1]),
    )
    return figure


def comparison_html(comparison: Comparison) -> str:
    """The table of a comparison, and its figure."""
    told = ", ".join(f"{name} {result.regret:.3g}" for name, result in comparison.policies.items())
    return html_table(comparison) + _image(comparison_figure(comparison), f"Regret of each policy: {told}.")


def run_html(run: Run) -> str:
    """What training gained, its learning curve, and the meta-parameters before and after."""
    before, after = run.start.meta_parameters(), run.trained.meta_parameters()
    lines = [Line([name, _numbers(before[name]), _numbers(after[name])]) for name in before]
    columns = [Column("meta-parameter", numbers=False), Column("before"), Column("after")]
    curve = _image(run_figure(run), f"Learning curve. {run}")
    return f"<p>{html.escape(str(run))}</p>{curve}{html_text('What training changed', columns, lines)}"


def policy_html(policy: SamplingPolicy) -> str:
    """The kind of a policy and its meta-parameters."""
    lines = [Line([name, _numbers(values)]) for name, values in policy.meta_parameters().items()]
    columns = [Column("meta-parameter", numbers=False), Column("value")]
    return html_text(type(policy).__name__, columns, lines)


def _numbers(values: Any) -> str:
    """The first numbers of an array, as many as fit into a cell.

    >>> _numbers(np.arange(10))
    '0 1 2 3 4 5 6 7 and 2 more'
    """
    flat = np.ravel(values)
    shown = " ".join(f"{value:.3g}" for value in flat[:_SHOWN_NUMBERS])
    return shown if len(flat) <= _SHOWN_NUMBERS else f"{shown} and {len(flat) - _SHOWN_NUMBERS:,} more"


def _image(figure: Figure, alternative: str) -> str:
    data = base64.b64encode(figure_bytes(figure, "svg")).decode()
    described = html.escape(alternative, quote=True)
    return f'<img alt="{described}" style="max-width: 100%" src="data:image/svg+xml;base64,{data}">'
