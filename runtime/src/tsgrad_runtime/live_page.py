"""An experiment as it stands: as data, as a page without scripts, and as numbers for Prometheus."""

import html
import math
from typing import Any

import numpy as np

from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.intervals import central_intervals
from tsgrad_runtime.models import IndependentArms
from tsgrad_runtime.watch import Tally


def experiment_summary(experiment: Experiment) -> dict[str, Any]:
    """What is known so far: progress, every arm with its traffic and rewards, and an alarm where there is reason."""
    agent, watch = experiment.agent, experiment.watch
    arms = []
    means, intervals = _believed(experiment)
    for number, name in enumerate(agent.arms):
        tally = watch.arms.get(name, Tally())
        arms.append(
            {
                "name": name,
                "withdrawn": name in agent.roster.withdrawn,
                "decisions": tally.shown,
                "rewards": tally.rewards,
                "average": tally.total / tally.rewards if tally.rewards else None,
                "believed": means[number],
                "interval": intervals[number],
            }
        )
    total, rewarded = watch.all.total, watch.all.rewards
    return {
        "policy": agent.artefact.name,
        "horizon": agent.artefact.horizon,
        "decisions": agent.steps,
        "rewards": rewarded,
        "defaults": watch.defaults,
        "average": total / rewarded if rewarded else None,
        "expected": agent.artefact.content.get("expected"),
        "alarm": watch.alarm(agent),
        "arms": arms,
    }


def _believed(experiment: Experiment) -> tuple[list[Any], list[Any]]:
    """Mean and 95% interval of each arm's expected reward; None where they depend on a context."""
    agent = experiment.agent
    model, belief = agent.model, agent.belief
    if model.contexts or model.arms is None:
        nothing = [None] * len(agent.arms)
        return nothing, nothing
    features = agent.model.features_for(agent.steps + 1)
    mean, std = model.moments(belief, features)
    # Where arms share features, the reward of each is nearly normal.
    between = np.stack([mean - 1.96 * std, mean + 1.96 * std])
    if model.rewards == "binary":
        between = np.clip(between, 0.0, 1.0)
    if isinstance(model, IndependentArms):
        own = model.values(central_intervals(model.posterior(belief, features)))
        between = np.where(np.isfinite(own), own, between)  # numbers too large for a density
    return np.asarray(mean).tolist(), between.T.tolist()


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .3rem .6rem; text-align: right; }
td:first-child, th:first-child { text-align: left; overflow-wrap: anywhere; } tr { border-bottom: 1px solid #ddd; }
td + td { white-space: nowrap; } small { color: #555; }
.bar { background: #e8eef4; height: .8rem; } .bar div { background: #2f6f9f; height: 100%; }
@media (max-width: 40rem) { .wide { display: none; } td, th { padding: .3rem .2rem; } }
.alarm { background: #fbe9e7; border-left: 4px solid #c0392b; padding: .6rem 1rem; }
"""


def live_page(experiment: Experiment) -> str:
    """The page: all that comes from data is escaped, and there is no script."""
    known = experiment_summary(experiment)
    done = min(known["decisions"] / known["horizon"], 1.0)
    busiest = max([arm["decisions"] for arm in known["arms"]], default=0) or 1
    rows = "".join(_row(arm, busiest) for arm in known["arms"])
    alarm = f'<p class="alarm">{html.escape(known["alarm"])}</p>' if known["alarm"] else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Experiment</title><meta http-equiv="refresh" content="5">
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>
<h1>Experiment</h1>{alarm}
<p>{known["decisions"]:,} of {known["horizon"]:,} decisions, {known["rewards"]:,} rewards
({known["defaults"]:,} of them by default), {_number(known["average"])} on average.</p>
<div class="bar"><div style="width:{100 * done:.1f}%"></div></div>{_expectation(known)}
<table><thead><tr><th>Arm</th><th>Decisions</th><th class="wide"></th><th class="wide">Rewards</th><th>Average</th>
<th>Posterior mean<br><small>95% interval</small></th></tr></thead><tbody>{rows}</tbody></table>
<p>Policy {html.escape(known["policy"][:12])}</p></body></html>"""


def _row(arm: dict[str, Any], busiest: int) -> str:
    name = html.escape(arm["name"]) + (" (withdrawn)" if arm["withdrawn"] else "")
    share = 100 * arm["decisions"] / busiest
    average, believed = _number(arm["average"]), ""
    if arm["interval"] is not None:
        low, high = arm["interval"]
        mean, least, most = (_told(value, high - low) for value in (arm["believed"], low, high))
        believed = f"{mean}<br><small>{least} to {most}</small>"
        average = average if arm["average"] is None else _told(arm["average"], high - low)
    return (
        f"<tr><td>{name}</td><td>{arm['decisions']:,}</td><td class='wide'><div class='bar' style='width:8rem'>"
        f"<div style='width:{share:.0f}%'></div></div></td><td class='wide'>{arm['rewards']:,}</td>"
        f"<td>{average}</td><td>{believed}</td></tr>"
    )


def _expectation(known: dict[str, Any]) -> str:
    """What was expected against what is believed of the regret so far."""
    expected = (known["expected"] or {}).get("regret")
    believed = [arm["believed"] for arm in known["arms"]]
    if expected is None or None in believed or not known["decisions"]:
        return ""
    regret = sum(arm["decisions"] * (max(believed) - arm["believed"]) for arm in known["arms"])
    said = (
        f"Regret expected over the whole horizon: {_number(expected)}; so far, by posterior means: {_number(regret)}."
    )
    return f"<p>{said}</p>"


def _number(value: float | None) -> str:
    """With four digits, where nothing says how well it is known."""
    if value is None:
        return "none yet"
    return f"{value:,.0f}" if 1000 <= abs(value) < _LARGE else f"{value:.4g}"


def _told(value: float, width: float) -> str:
    """A number with as many digits as tell it from others in an interval of this width: two of the width's own.

    >>> _told(100.2, 1.2), _told(0.04, 0.075), _told(1234567.8, 3000.0), _told(0.0, 0.0), _told(1.5e-9, 1e-10)
    ('100.2', '0.040', '1,234,568', '0', '1.50e-09')
    """
    if not width > 0 or not math.isfinite(width):
        return _number(value)
    decimals = 1 - math.floor(math.log10(width))
    if decimals <= _MOST_DECIMALS and abs(value) < _LARGE:
        return f"{value:,.{max(decimals, 0)}f}"
    digits = 0 if value == 0 else decimals + math.floor(math.log10(abs(value)))
    return f"{value:.{min(max(digits, 0), 15)}e}"


_MOST_DECIMALS, _LARGE = 6, 1e9  # beyond, a number is told by its power of ten


def metrics_text(experiment: Experiment, answers: dict[int, int]) -> str:
    """In Prometheus's text format."""
    known = experiment_summary(experiment)
    lines = [
        "# TYPE tsgrad_decisions_total counter",
        *(f"tsgrad_decisions_total{{arm={_label(arm['name'])}}} {arm['decisions']}" for arm in known["arms"]),
        "# TYPE tsgrad_rewards_total counter",
        *(f"tsgrad_rewards_total{{arm={_label(arm['name'])}}} {arm['rewards']}" for arm in known["arms"]),
        "# TYPE tsgrad_default_rewards_total counter",
        f"tsgrad_default_rewards_total {known['defaults']}",
        "# TYPE tsgrad_answers_total counter",
        *(f'tsgrad_answers_total{{status="{status}"}} {count}' for status, count in sorted(answers.items())),
        "# TYPE tsgrad_model_alarm gauge",
        f"tsgrad_model_alarm {int(known['alarm'] is not None)}",
    ]
    return "\n".join(lines) + "\n"


def _label(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
