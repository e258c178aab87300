"""What the first tuned policy gained: regret over time, and where its pulls went.

python docs/scripts/figures/first_policy.py
"""

import tsgrad as tg
from drawing import save
from tsgrad.report.charts import pulls_per_arm, regret_over_time

NOISE = [0.1, 0.4, 1.0, 4.0, 10.0]


def main() -> None:
    """The five lines of the first page, and two figures of what they give."""
    problem = tg.GaussianBandit(noise_std=NOISE)
    run = tg.train(problem, horizon=50, progress=False)
    policies = {"plain": tg.Thompson(), "tuned": run.trained, "greedy": tg.Greedy(), "Bayes-UCB": tg.BayesUCB()}
    found = tg.compare(problem, policies, horizon=50, episodes=20_000, seed=7).policies
    curves = {name: result.regret_over_time for name, result in found.items()}
    pulls = [found[name].pulls for name in ("plain", "tuned")]
    labels = [f"{noise:g}" for noise in NOISE]
    save(lambda width: regret_over_time(curves, trained="tuned", reference="plain", width=width), "first-policy")
    save(
        lambda width: pulls_per_arm(
            *pulls, labels, names=("plain", "tuned"), title="noise of the arm (standard deviation)", width=width
        ),
        "first-policy-pulls",
    )


if __name__ == "__main__":
    main()
