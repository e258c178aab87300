"""How far the gain can be trusted: what is left of it in every scenario, in a picture and a sentence each."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from tsgrad.evaluate.digits import INTERVAL_Z, decimals, fixed, interval
from tsgrad.live import Robustness
from tsgrad.live.trust import Kept
from tsgrad.report.contents import Picture, Section, Table, TableRow
from tsgrad.report.style import ACCENT, INK, MUTED, PALETTE, PAPER, Width, panels, styled


def robustness_section(found: Robustness, *, episodes: int) -> Section:
    """All scenarios, as assumed first."""
    text = (
        f"{found.verdict} In each scenario everything else is as assumed, and plain Thompson sampling plays the same"
        f" {episodes:,} episodes; regret is against the best arm of each step."
    )
    shares = [f"{100 * kept.share:.0f}%" for kept in found.scenarios]
    picture = Picture(
        name="robustness",
        caption="What is left of the gain, as a share of the regret of plain Thompson sampling in the same scenario,"
        " with 95% confidence intervals. Left of zero is a loss; the dashed line is the gain if all is as assumed.",
        alternative="Gain by scenario: "
        + "; ".join(f"{kept.said}, {share}" for kept, share in zip(found.scenarios, shares, strict=True))
        + ".",
        draw=lambda width: gain_by_scenario(found, width=width),
    )
    table = Table(
        caption="What is left of the gain in each scenario",
        columns=["scenario", "verdict", "gain", "95% confidence interval", "of the regret"],
        rows=[_row(kept, share) for kept, share in zip(found.scenarios, shares, strict=True)],
        text_columns=2,
        folded=True,
    )
    return Section("How far it can be trusted", [text], [picture, table])


def _row(kept: Kept, share: str) -> TableRow:
    gain = fixed(kept.gain, max(1, decimals(kept.standard_error)))
    cells = [kept.said, kept.verdict, gain, interval(kept.gain, kept.standard_error), share]
    return TableRow(cells, ours=kept.share_assumed is None)


@styled
def gain_by_scenario(found: Robustness, *, width: Width = "wide") -> Figure:
    """The gain in each scenario, in percent of the reference's regret, with 95% intervals; as assumed on top.

    >>> figure = gain_by_scenario(Robustness([Kept("As assumed", 10.0, 3.0, 0.2), Kept("Late", 10.0, -1.0, 0.2, 0.3)]))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['Late', 'As assumed']
    """
    kept = found.scenarios[::-1]
    figure, (axes,) = panels(width, height=0.75 + 0.22 * len(kept))
    colours = {"a gain": ACCENT, "a loss": PALETTE["vermilion"], "no clear gain": MUTED}
    for place, one in enumerate(kept):
        percent = 100 / one.regret_of_reference if one.regret_of_reference else 0.0
        axes.errorbar(
            percent * one.gain,
            place,
            xerr=INTERVAL_Z * percent * one.standard_error,
            color=colours[one.verdict],
            marker={"a gain": "o", "a loss": "s", "no clear gain": "D"}[one.verdict],
            markerfacecolor=PAPER if one.verdict == "no clear gain" else colours[one.verdict],
            elinewidth=1.0,
        )
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.axvline(100 * found.scenarios[0].share, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    names = [one.said if width == "wide" else _wrapped(one.said) for one in kept]
    axes.set_yticks(np.arange(len(kept)), names, fontsize=8 if width == "wide" else 6.5, multialignment="right")
    axes.get_yticklabels()[-1].set_fontweight("bold")
    axes.set(xlabel="gain, % of regret, with 95% confidence interval", ylim=(-0.7, len(kept) - 0.3))
    axes.grid(axis="y", linewidth=0.6)
    axes.spines["left"].set_visible(False)
    return figure


def gains_picture(gains: Mapping[str, tuple[float, float]]) -> Picture:
    """Gains by where they were measured, each with the reach of its 95% interval to either side."""

    @styled
    def drawn(width: Width) -> Figure:
        figure, (axes,) = panels(width, height=0.75 + 0.3 * len(gains))
        for place, (gain, reach) in enumerate(list(gains.values())[::-1]):
            axes.errorbar(gain, place, xerr=reach, color=ACCENT, marker="o", elinewidth=1.0)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_yticks(np.arange(len(gains)), [_wrapped(said) for said in list(gains)[::-1]], multialignment="right")
        axes.set(xlabel="less regret, with 95% confidence interval", ylim=(-0.7, len(gains) - 0.3))
        axes.spines["left"].set_visible(False)
        return figure

    return Picture(
        name="gains",
        caption="How much less regret the new policy has. Left of zero it has more.",
        alternative="Gains: " + "; ".join(f"{said}, {gain:.3g}" for said, (gain, _) in gains.items()) + ".",
        draw=drawn,
    )


def _wrapped(said: str) -> str:
    r"""A sentence in two lines, for a phone.

    >>> _wrapped("Stopped half way, known to the policy")
    'Stopped half way,\nknown to the policy'
    """
    if len(said) < 24:
        return said
    spaces = [place for place, letter in enumerate(said) if letter == " "]
    middle = min(spaces, key=lambda place: abs(place - len(said) / 2))
    return f"{said[:middle]}\n{said[middle + 1 :]}"
