"""The picture in the README: what its five lines of Python gain, and where that comes from.

python docs/scripts/figures/readme.py
"""

import numpy as np
from matplotlib.figure import Figure

import tsgrad as tg
from drawing import IMAGES
from tsgrad.artefact import write_whole
from tsgrad.evaluate import Comparison
from tsgrad.report.style import ACCENT, INK, METADATA, MUTED, PAPER, LineLabel, label_lines, panels, styled

NOISE = [0.1, 0.4, 1.0, 4.0, 10.0]
HEIGHT = 3.0  # inches


@styled
def picture(found: Comparison) -> Figure:
    """Left the regret of every policy up to each step, right how often two of them pull each arm."""
    figure, (left, right) = panels("wide", 2, height=HEIGHT)
    figure.set_facecolor(PAPER)  # on dark pages too
    labels = []
    for name, result in found.policies.items():
        colour, width = {"tuned": (ACCENT, 2.4), "Thompson sampling": (INK, 1.6)}.get(name, (MUTED, 1.0))
        curve = result.regret_over_time
        left.plot(np.arange(1, len(curve) + 1), curve, color=colour, linewidth=width, zorder=width)
        labels.append(LineLabel(curve[-1], f"{name} {curve[-1]:.1f}", colour, strong=name == "tuned"))
    left.set(xlabel="step", xlim=(1, len(curve)), ylim=(0, None), title="Regret so far (less is better)")
    label_lines(left, labels, panel_height=HEIGHT)
    places = np.arange(len(NOISE))
    for shift, name, colour in ((-0.2, "Thompson sampling", MUTED), (0.2, "tuned", ACCENT)):
        right.bar(places + shift, found.policies[name].pulls, 0.38, color=colour, label=name)
    right.set_xticks(places, [f"{noise:g}" for noise in NOISE])
    right.set(xlabel="noise of the arm (standard deviation)", title="Pulls of each arm in an episode")
    right.legend(loc="upper right", handlelength=1.0, fontsize=8)
    return figure


def main() -> None:
    """Trains, compares with rivals on fresh episodes, and draws."""
    problem = tg.GaussianBandit(noise_std=NOISE)
    run = tg.train(problem, horizon=50, progress=False)
    policies = {
        "Thompson sampling": tg.Thompson(),
        "Bayes-UCB": tg.BayesUCB(),
        "greedy": tg.Greedy(),
        "Gittins index": tg.FiniteHorizonGittins(),
        "tuned": run.trained,
    }
    drawn = picture(tg.compare(problem, policies, horizon=50, episodes=100_000, seed=7))
    write_whole(IMAGES / "hetero.png", lambda file: drawn.savefig(file, dpi=200, metadata=METADATA["png"]))


if __name__ == "__main__":
    main()
