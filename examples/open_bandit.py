"""The whole way on real data: a log, a prior, a policy, a week of a shop with late clicks, and the policy after it.

The data are the sample of the Open Bandit Dataset (Saito, Aihara, Matsutani and Narita, 2021) that the package obp
ships: clicks on 34 items of a fashion shop that were shown uniformly at random. `make live` fetches it and runs

    python examples/open_bandit.py men.csv
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

import tsgrad as tg
from tsgrad_runtime import Ledger

STEPS = 14  # the shop learns twice a day
WEEK = tg.Conditions(batch=5000, delay=1)  # after 5,000 users, whose clicks are seen half a day later
RIVALS = {
    "A/B test": tg.ABTest(),
    "explore, then commit": tg.ExploreThenCommit(),
    "successive elimination": tg.SuccessiveElimination(),
    "greedy": tg.Greedy(),
}


def halves(path):
    """The log as two, every other row each: one to learn the prior from, one that says what is true."""
    table = {name: column for name, column in tg.read_log(path).items() if name in ("item_id", "click")}
    return [{name: column[start::2] for name, column in table.items()} for start in range(2)]


def fitted(log):
    """The prior of click rates that a log suggests."""
    return tg.fit_prior(log, family="bernoulli", arm="item_id", reward="click")


def what_is_known(fit):
    """The rates of the very items of a log, as far as it tells: every week has rates that it does not rule out."""
    clicks, views = fit.units.total, fit.units.pulls
    return tg.BernoulliBandit(alpha=fit.parameters["alpha"] + clicks, beta=fit.parameters["beta"] + views - clicks)


def compared(problem, policies, weeks):
    """Clicks of every policy in the same weeks, [week] each."""
    options = {"horizon": STEPS, "episodes": weeks, "seed": 1, "conditions": WEEK}
    return {name: tg.simulate(problem, policy, **options).reward for name, policy in policies.items()}


def table(clicks):
    """Clicks a week, and how many more than plain Thompson sampling earns, with 95% intervals; best last."""
    lines = [f"{'':>24} {'clicks a week':>22} {'more than plain':>22}"]
    for name in sorted(clicks, key=lambda name: clicks[name].mean()):
        line = f"{name:>24} {interval(clicks[name]):>22}"
        lines.append(line if name == "plain" else f"{line} {interval(clicks[name] - clicks['plain']):>22}")
    return "\n".join(lines)


def interval(values):
    """A mean with its 95% interval."""
    mean, reach = values.mean(), 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{mean:.1f} ({mean - reach:.1f} to {mean + reach:.1f})"


class Shop:
    """Asks a service for decisions, and tells it who clicked; from several threads, each with a connection."""

    def __init__(self, port, token):
        self._port, self._header, self._own = port, {"authorization": f"Bearer {token}"}, threading.local()

    def ask(self, method, path, body=None):
        """What the service answers."""
        own = self._own
        if time.monotonic() - getattr(own, "used", -np.inf) > 2:  # the service hangs up after five idle seconds
            own.connection = HTTPConnection("127.0.0.1", self._port)
        own.connection.request(method, path, body and json.dumps(body), self._header)
        answer = own.connection.getresponse()
        content, own.used = answer.read().decode(), time.monotonic()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content}")
        return content

    def week(self, rates, seed):
        """Plays a week; how many clicked."""
        generator, late, clicks = np.random.default_rng(seed), [], 0
        with ThreadPoolExecutor(16) as crowd:
            for _ in range(STEPS):
                answers = [self.ask("POST", "/v1/decisions", {"users": 500}) for _ in range(WEEK.batch // 500)]
                made = [one for answer in answers for one in json.loads(answer)["decisions"]]
                paid = generator.random(len(made)) < [rates[one["arm"]] for one in made]
                clicks += int(paid.sum())
                list(crowd.map(lambda told: self.ask("POST", *told), late))
                late = [
                    (f"/v1/decisions/{one['id']}/reward", {"value": int(click)})
                    for one, click in zip(made, paid, strict=True)
                ]
            list(crowd.map(lambda told: self.ask("POST", *told), late))
        return clicks


@contextlib.contextmanager
def served(policy, url):
    """A service for a policy, as a process of its own, while it is needed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tsgrad", "serve", policy, "--ledger", url, "--port", str(port)]
    environment = {**os.environ, "TSGRAD_TOKEN": "clicks", "TSGRAD_ADMIN_TOKEN": "rules"}
    process = subprocess.Popen(command, env=environment)
    try:
        until = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the service did not start")
            time.sleep(0.1)
        yield Shop(port, "clicks")
    finally:
        process.terminate()
        process.wait()


def main():
    """Goes the whole way, and prints each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path, help="men.csv of random/men")
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--weeks", type=int, default=2000, help="simulated for each policy")
    options = parser.parse_args()
    began = time.monotonic()

    def step(said):
        print(f"\n[{time.monotonic() - began:.0f} s] {said}", flush=True)

    past, present = halves(options.log)
    step("1. The prior, from one half of the log")
    fit, other = fitted(past), fitted(present)
    print(fit)
    items = [str(item) for item in np.unique(present["item_id"].astype(str))]

    step(f"2. Training for a week of the shop: {WEEK.words(STEPS)}")
    folder = Path(tempfile.mkdtemp(prefix="open-bandit-"))
    settings = {"episodes": options.episodes, "iterations": options.iterations, "validation_episodes": 512, "seed": 0}
    problem = fit.problem(arms=len(items))
    run = tg.train(problem, horizon=STEPS, conditions=WEEK, out=folder / "run", **settings)
    run.save(folder / "tuned.json", arms=items)
    print(run)

    step(f"3. {options.weeks} weeks with click rates as the other half of the log has them")
    truth = what_is_known(other)
    policies = {"plain": tg.Thompson(), "tuned": run.policy, **RIVALS}
    clicks = compared(tg.Misspecified(truth=truth, model=problem), policies, options.weeks)
    print(table(clicks))
    best = max(RIVALS, key=lambda name: clicks[name].mean())
    print(f"tuned earns {interval(clicks['tuned'] - clicks[best])} more than the best rival, {best}")

    step("4. One such week over HTTP, on a ledger")
    url = f"sqlite:///{folder}/ledger.db"
    # Drawn as those of every simulated week are; posterior means would be a week in which items hardly differ.
    rates = dict(zip(items, np.random.default_rng(0).beta(truth.alpha, truth.beta), strict=True))
    with served(folder / "tuned.json", url) as shop:
        earned = shop.week(rates, seed=0)
        (folder / "live.html").write_text(shop.ask("GET", "/live"), encoding="utf-8")
    ledger = Ledger(url)
    rows = tg.export_ledger(ledger, folder / "log.parquet")
    print(f"{rows} decisions, {earned} clicks; its page is {folder / 'live.html'}")
    shown = max(rates, key=rates.get)
    print(f"Had item {shown} been shown to all:\n{tg.evaluate_log(folder / 'log.parquet', target={shown: 1.0})}")

    step("5. The next version")
    print(tg.retune(folder / "run", ledger, out=folder / "next", training=settings, episodes=512))
    ledger.close()
    step("done")


if __name__ == "__main__":
    main()
