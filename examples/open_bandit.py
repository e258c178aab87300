"""The whole way on real data: a log, a prior, a policy, a week of a shop with late clicks, and the policy after it.

The data are the sample of the Open Bandit Dataset (Saito, Aihara, Matsutani and Narita, 2021) that the package obp
ships: clicks on 34 items of a fashion shop that were shown uniformly at random. `make live` fetches it and runs

    python examples/open_bandit.py men.csv
"""

import argparse
import heapq
import tempfile
from pathlib import Path

import numpy as np

import tsgrad as tg
from tsgrad.live import read_log
from tsgrad.live.export import export_ledger
from tsgrad_runtime import Agent, read_artefact
from tsgrad_runtime.events import Event
from tsgrad_runtime.experiment import Experiment
from tsgrad_runtime.ledger import Ledger
from tsgrad_runtime.live_page import live_page


def halves(path):
    """The log as two, every other row each: one to learn the prior from, one that says what is true."""
    table = {name: column for name, column in read_log(path).items() if name in ("item_id", "click")}
    return [{name: column[start::2] for name, column in table.items()} for start in range(2)]


def week(agent, rates, clicks, delay):
    """Plays an experiment whose clicks are seen `delay` decisions later; what it earned."""
    waiting, earned = [], 0.0
    for t in range(agent.artefact.horizon):
        while waiting and waiting[0][0] <= t:
            _, decision, click = heapq.heappop(waiting)
            agent.reward(decision, click)
        decision = agent.decide()
        click = float(clicks.random() < rates[decision.arm])
        earned += click
        heapq.heappush(waiting, (t + int(clicks.integers(1, 2 * delay)), decision.id, click))
    return earned


def record(policy, ledger, rates, seed):
    """The same week on a ledger, fifty users at a time; the experiment after it."""
    experiment, clicks = Experiment(read_artefact(policy), ledger), np.random.default_rng(seed)
    agent = experiment.agent
    for _ in range(agent.artefact.horizon // 50):
        scene = agent.scene()
        made = [agent.propose(scene) for _ in range(50)]
        name = agent.artefact.name
        experiment.append([Event("decision", 0.0, one.id, one.arm, one.propensity, policy=name) for one in made])
        paid = [float(clicks.random() < rates[one.arm]) for one in made]
        experiment.append([Event("reward", 0.0, one.id, reward=value) for one, value in zip(made, paid, strict=True)])
    return experiment


def main():
    """Goes the whole way, and prints each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path, help="men.csv of random/men")
    parser.add_argument("--horizon", type=int, default=7000, help="decisions of the week")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--weeks", type=int, default=20, help="simulated for each policy")
    options = parser.parse_args()

    past, present = halves(options.log)
    fit = tg.fit_prior(past, family="bernoulli", arm="item_id", reward="click")
    print("1. The prior, from one half of the log\n", fit, sep="")
    truth = tg.fit_prior(present, family="bernoulli", arm="item_id", reward="click")
    items = [str(item) for item in np.unique(present["item_id"].astype(str))]
    rates = dict(zip(items, truth.shrunk, strict=True))

    problem, folder = fit.problem(arms=len(items)), Path(tempfile.mkdtemp(prefix="open-bandit-"))
    settings = {"episodes": options.episodes, "iterations": options.iterations, "validation_episodes": 512, "seed": 0}
    run = tg.train(problem, horizon=options.horizon, out=folder / "run", **settings)
    print("\n2. Training\n", run, sep="")

    run.save(folder / "tuned.json", arms=items)
    for name, policy in (("plain", tg.Thompson()), ("greedy", tg.Greedy())):
        tg.write_policy(folder / f"{name}.json", policy, problem=problem, horizon=options.horizon, arms=items)
    print(f"\n3. {options.weeks} weeks each, clicks as in the other half of the log, seen some 100 decisions later")
    for name in ("plain", "tuned", "greedy"):
        earned = np.array(
            [
                week(Agent.load(folder / f"{name}.json", seed=seed), rates, np.random.default_rng(seed), 100)
                for seed in range(options.weeks)
            ]
        )
        error = earned.std(ddof=1) / np.sqrt(len(earned))
        print(f"{name:>8}: {earned.mean():.1f} clicks a week (95% {earned.mean() - 1.96 * error:.1f} to", end=" ")
        print(f"{earned.mean() + 1.96 * error:.1f})")

    ledger = Ledger(f"sqlite:///{folder}/ledger.db")
    experiment = record(folder / "tuned.json", ledger, rates, seed=0)
    (folder / "live.html").write_text(live_page(experiment), encoding="utf-8")
    rows = export_ledger(ledger, folder / "log.parquet")
    best = max(rates, key=rates.get)
    print(f"\n4. {rows} decisions on a ledger, its page {folder / 'live.html'}; had item {best} been shown to all:")
    print(tg.evaluate_log(folder / "log.parquet", target={best: 1.0}))

    print("\n5. The next version")
    print(tg.retune(folder / "run", ledger, out=folder / "next", training=settings, episodes=512))
    ledger.close()


if __name__ == "__main__":
    main()
