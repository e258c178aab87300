"""What policies did on common episodes, as every report needs it, and the sentences that say so."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tsgrad.arrays import FloatArray
from tsgrad.report.contents import KeyFigure
from tsgrad.report.words import INTERVAL_Z, decimals, fixed, interval, measured, percentage


class Outcome(NamedTuple):
    """One policy: its regret, and how much less that is than the reference's, paired episode by episode."""

    regret: float
    standard_error: float
    gain: float
    gain_standard_error: float
    regret_over_time: FloatArray  # [T]
    pulls: FloatArray | None  # [K]; None for infinite sets of arms


class Limit(NamedTuple):
    """A regret that no policy can go below."""

    kind: str
    regret: float
    standard_error: float


class Outcomes(NamedTuple):
    """Policies by name; which of them was trained, and which one it is held against."""

    policies: Mapping[str, Outcome]
    trained: str
    reference: str
    limit: Limit | None
    others: Sequence[str] = ()  # what else is drawn over time

    @property
    def after(self) -> Outcome:
        """The trained policy."""
        return self.policies[self.trained]

    @property
    def before(self) -> Outcome:
        """What it is held against."""
        return self.policies[self.reference]

    @property
    def share(self) -> str:
        """The gain as a share of the reference's regret."""
        return percentage(self.after.gain, self.before.regret)

    def headline(self, subject: str) -> str:
        """The gain with its interval, in a sentence about `subject`."""
        before, after = self.before, self.after
        regrets = (
            f"{subject} loses {measured(after.regret, after.standard_error)} where plain {self.reference} "
            f"loses {measured(before.regret, before.standard_error)}"
        )
        margin = INTERVAL_Z * after.gain_standard_error
        known = f"(95% interval {interval(abs(after.gain), after.gain_standard_error)})"
        amount = fixed(abs(after.gain), decimals(after.gain_standard_error))
        if after.gain > margin:
            return f"{regrets}: a gain of {amount} {known}, {self.share} of the regret."
        if after.gain < -margin:
            return f"{regrets}: it is worse by {amount} {known}."
        if after.gain == after.gain_standard_error == 0:
            return f"{regrets}: no gain; both make the same choices."
        spread = interval(after.gain, after.gain_standard_error)
        return f"{regrets}: no gain that could be told from chance (95% interval {spread})."

    def key_figures(self) -> list[KeyFigure]:
        """The numbers that deserve large type."""
        before, after = self.before, self.after
        shown = [
            KeyFigure("Regret before", _regret(before), self.reference),
            KeyFigure("Regret after", _regret(after), self.trained, strong=True),
            KeyFigure(
                "Gain",
                fixed(after.gain, decimals(after.gain_standard_error)),
                f"{self.share} of the regret; 95% interval {interval(after.gain, after.gain_standard_error)}",
            ),
        ]
        if self.limit is not None:
            shown.append(
                KeyFigure("Limit", fixed(self.limit.regret, decimals(after.standard_error)), "no policy loses less")
            )
        return shown


def _regret(outcome: Outcome) -> str:
    return fixed(outcome.regret, decimals(outcome.standard_error))
