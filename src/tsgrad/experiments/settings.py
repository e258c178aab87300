"""The paper's three settings as data: problems, hyper-parameters, and every number that it prints."""

from typing import NamedTuple

from tsgrad.checks import check_choice
from tsgrad.estimate import Estimator
from tsgrad.problems import GaussianBandit

# The estimators that the paper trains with, as (metric, baseline), by the names that its tables give them.
PAIRS = {
    "obs/null": ("obs", "null"),
    "mean/null": ("mean", "null"),
    "bayes/null": ("bayes", "null"),
    "mean/oracle": ("mean", "oracle"),
    "mean/self": ("mean", "self"),
}

# One factor for all settings: steps of the printed length go further than the paper's (docs/understand/decisions.md).
STEPS = 0.4


class Printed(NamedTuple):
    """A regret as the paper prints it."""

    regret: float
    standard_error: float


class Setting(NamedTuple):
    """One setting of the numerical section: Gaussian arms, how policies were trained, and the table of results."""

    name: str
    title: str
    arms: int
    horizon: int
    prior_mean: float
    prior_std: float
    noise_std: float | tuple[float, ...]
    episodes: int  # a training batch
    learning_rate: float  # of Adam, constant, as printed
    iterations: int
    evaluation_episodes: int
    trained: dict[str, Printed]  # by estimator, as in "mean/self"
    rivals: dict[str, Printed]

    @property
    def problem(self) -> GaussianBandit:
        """The bandit of this setting."""
        return GaussianBandit(
            arms=self.arms, prior_mean=self.prior_mean, prior_std=self.prior_std, noise_std=self.noise_std
        )


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            name="standard",
            title="standard setting, 10 arms, 500 steps",
            arms=10,
            horizon=500,
            prior_mean=0.0,
            prior_std=1.0,
            noise_std=1.0,
            episodes=5000,
            learning_rate=0.01,
            iterations=1000,
            evaluation_episodes=20_000,
            trained={
                "obs/null": Printed(54.411, 0.206),
                "mean/null": Printed(54.530, 0.203),
                "bayes/null": Printed(54.591, 0.208),
                "mean/oracle": Printed(45.247, 0.302),
                "mean/self": Printed(45.099, 0.320),
            },
            rivals={
                "TS": Printed(58.999, 0.191),
                "Bayes-UCB": Printed(52.038, 0.186),
                "OGI": Printed(50.381, 0.348),
                "IDS": Printed(47.135, 0.335),
            },
        ),
        Setting(
            name="hetero",
            title="heteroscedastic arms, 5 arms, 50 steps",
            arms=5,
            horizon=50,
            prior_mean=0.0,
            prior_std=1.0,
            # The paper calls these variances; its numbers, and its own remark on how many observations each arm
            # needs, hold for standard deviations.
            noise_std=(0.1, 0.4, 1.0, 4.0, 10.0),
            episodes=1000,
            learning_rate=0.05,
            iterations=1000,
            evaluation_episodes=10_000,
            trained={
                "obs/null": Printed(16.561, 0.204),
                "mean/null": Printed(16.582, 0.202),
                "bayes/null": Printed(16.492, 0.202),
                "mean/oracle": Printed(15.959, 0.203),
                "mean/self": Printed(15.310, 0.198),
            },
            rivals={
                "TS": Printed(25.768, 0.156),
                "Bayes-UCB": Printed(31.677, 0.254),
                "OGI": Printed(23.614, 0.224),
                "IDS": Printed(20.249, 0.202),
            },
        ),
        Setting(
            name="many",
            title="many arms, 20 arms, 20 steps",
            arms=20,
            horizon=20,
            prior_mean=0.0,
            prior_std=1.0,
            noise_std=1.0,
            episodes=1000,
            learning_rate=0.05,
            iterations=1000,
            evaluation_episodes=10_000,
            trained={
                "obs/null": Printed(20.625, 0.127),
                "mean/null": Printed(20.541, 0.126),
                "bayes/null": Printed(20.591, 0.127),
                "mean/oracle": Printed(20.348, 0.126),
                "mean/self": Printed(20.421, 0.128),
            },
            rivals={
                "TS": Printed(28.802, 0.097),
                "Bayes-UCB": Printed(21.537, 0.124),
                "OGI": Printed(20.604, 0.126),
                "IDS": Printed(21.799, 0.118),
            },
        ),
    )
}


def paper_estimator(pair: str) -> Estimator:
    """The estimator that the paper trains with under this name; all that reproductions train with are made here.

    They are made of the score of the draw, as the paper's are.

    >>> paper_estimator("mean/self").rollouts
    2
    """
    return Estimator(*PAIRS[pair], score="draw")


def setting_named(name: str) -> Setting:
    """One of the paper's settings.

    >>> setting_named("hetero").trained["mean/self"]
    Printed(regret=15.31, standard_error=0.198)
    """
    return SETTINGS[check_choice("setting", name, SETTINGS)]
