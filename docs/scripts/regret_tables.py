"""Tables of regrets: for each program in `benchmarks` that compares policies, its results as tables."""

from collections.abc import Callable, Mapping
from typing import Any

from markdown_tables import Parts, one_row_each, table, text
from tsgrad.evaluate.digits import common_decimals, fixed, measured

NAMES = {  # policies, as programs call them and as people do
    "TS": "plain Thompson sampling",
    "Thompson": "plain Thompson sampling",
    "IDS": "information-directed sampling",
    "KG": "knowledge gradient",
    "OGI": "optimistic Gittins index",
    "OGI-T": "optimistic Gittins index, discounted by the steps left",
    "Gittins": "Gittins index",
    "Gittins by schedule": "Gittins index, each arm with the steps until it leaves",
    "batch KG": "knowledge gradient, by normal approximation",
    "top two": "top-two Thompson sampling",
    "half the spread": "Thompson sampling with half the spread",
    "bonus": "**tuned, bonus law**",
    "reshaped": "**tuned, the paper's family**",
    "trained": "**tuned under the conditions**",
    "without": "tuned without the conditions",
}
NO_INDEX_TITLES = {
    "contexts": "linear rewards, new features at each step: 10 arms, 50 steps",
    "correlated": "linear rewards, 30 correlated arms, 100 steps",
    "logistic": "clicks, new features at each step: 5 arms, 50 steps",
    "variance": "unknown noise: 5 arms, 50 steps",
}
CASE_TITLES = {
    "a": "Standard setting, 10 batches of 50 users",
    "a in proportion": "Standard setting, 10 batches of 50 users, allocated in proportion",
    "b": "Clicks of about one user in 250: 10 arms, 7 days of 20,000 users",
    "b with floor and delay": "The same clicks, a day late, and no arm below 2% of the users",
    "c": "Standard setting, rewards 20 steps late",
    "d": "Heteroscedastic setting, no arm below 5%",
    "e": "Many arms; afterwards 100 users get the arm that looks best",
    "f": "10 Gaussian arms that come and go, 200 steps",
    "g": "Linear rewards with contexts: 10 arms, 10 batches of 20 users",
    "gaussian": "10 Gaussian arms",
    "bernoulli": "10 Bernoulli arms",
}


def no_index_summary(parts: Parts) -> list[str]:
    """One row for each problem without a known index: plain, greedy, the best of the other rivals, and tuned."""
    rows = []
    for name, title in NO_INDEX_TITLES.items():
        if name not in parts:
            continue
        regret = _regrets(parts[name])
        ours = ("TS", "greedy", "bonus", "reshaped")
        best = min((policy for policy in regret if policy not in ours), key=regret.__getitem__, default=None)
        decimals = 1 if regret["TS"] >= 10 else 2
        rows.append(
            [
                title,
                fixed(regret["TS"], decimals),
                fixed(regret["greedy"], decimals),
                f"{fixed(regret[best], decimals)} ({NAMES.get(best, best)})" if best else "",
                f"**{fixed(regret['bonus'], decimals)}**",
            ]
        )
    return table(["problem", "plain Thompson sampling", "greedy", "best other rival", "tuned"], rows)


def no_index(parts: Parts) -> list[str]:
    """A summary, then every policy of every problem."""
    lines = [*no_index_summary(parts), ""]
    for name, results in parts.items():
        lines += [f"### {NO_INDEX_TITLES.get(name, name).capitalize()}", ""]
        policies, regret = _policies(results), _regrets(results)
        decimals = common_decimals(entry["standard error"] for entry in policies.values())
        rows = [
            [
                NAMES.get(policy, policy),
                fixed(regret[policy], decimals),
                _difference(entry["above the bonus law"], entry["standard error"]) if policy != "bonus" else "",
                text(entry["episodes"]),
            ]
            for policy, entry in sorted(policies.items(), key=lambda item: regret[item[0]])
        ]
        lines += [*table(["policy", "regret", "above the tuned bonus law, ± standard error", "episodes"], rows), ""]
        seconds = results["seconds of training"]
        lines += [
            f"Training took {seconds['bonus']:g} s (bonus law) and {seconds['reshaped']:g} s (paper's family).",
            "",
        ]
        if results["left out"]:
            lines += ["Rivals that are not defined here:", ""]
            lines += [
                f"- {NAMES.get(rival, rival)}: {text(why.split(';')[0])}" for rival, why in results["left out"].items()
            ]
            lines += [""]
    return lines


def _policies(results: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are regrets of a policy."""
    return {name: entry for name, entry in results.items() if isinstance(entry, Mapping) and "regret" in entry}


def _regrets(results: Mapping[str, Any]) -> dict[str, float]:
    """By policy: the bonus law's on all episodes plus what the policy was above it, on fewer episodes if it is slow."""
    bonus = results["bonus"]["regret"]
    return {policy: bonus + entry["above the bonus law"] for policy, entry in _policies(results).items()}


def _difference(value: float, error: float) -> str:
    """A paired difference with its standard error; none where both policies played alike."""
    return measured(value, error) if error > 0 else fixed(value, 1)


def conditions(parts: Parts) -> list[str]:
    """One table for each case, of conditions or horizons; rivals that are slow played fewer episodes, in their own."""
    lines = []
    for name in (name for name in dict.fromkeys([*CASE_TITLES, *parts]) if name in parts):
        results = parts[name]
        lines += [f"### {CASE_TITLES.get(name, name)}", ""]
        lines += [f"Training took {results['seconds of training']:.0f} s.", ""]
        for key, policies in results.items():
            if not isinstance(policies, Mapping) or not key.endswith("episodes"):
                continue
            above = "above trained, standard error"
            decimals = common_decimals(entry[above][1] for entry in policies.values())
            ranked = sorted(policies.items(), key=lambda entry: entry[1]["regret"])
            rows = [
                [
                    NAMES.get(policy, policy),
                    fixed(entry["regret"], decimals),
                    _difference(*entry[above]) if policy != "trained" else "",
                ]
                for policy, entry in ranked
            ]
            columns = [f"policy, on {int(key.split()[0]):,} episodes", "regret", "above tuned, ± standard error"]
            lines += [*table(columns, rows), ""]
    return lines


def published_bernoulli(parts: Parts) -> list[str]:
    """One row for each number of steps and arms: total rewards here, and as printed."""

    def here(results: Mapping[str, Any], policy: str) -> str:
        entry = results.get(policy)
        return f"{entry['reward']:.2f} ({entry['standard error']:.2f})" if entry else ""

    def size(part: str) -> tuple[int, ...]:
        return tuple(int(word) for word in part.replace(",", " ").split() if word.isdigit())

    rows = []
    for steps, arms, results in sorted((*size(part), results) for part, results in parts.items()):
        printed = results["printed"]
        rows.append(
            [
                f"{steps}, {arms}",
                here(results, "thompson"),
                text(printed["thompson"]),
                here(results, "gittins"),
                text(printed["gittins"]),
                f"**{here(results, 'trained')}**",
                text(printed["rl2"]),
            ]
        )
    columns = ["steps, arms", "Thompson", "printed", "Gittins", "printed", "tuned", "RL2, printed"]
    return ["Mean total reward per episode (standard error); more is better.", "", *table(columns, rows)]


def pretrained(parts: Parts) -> list[str]:
    """One row for each family."""
    return one_row_each("family", parts)


def reproduction(parts: Parts) -> list[str]:
    """One row for each setting and estimator: medians over seeds, and what the paper prints."""
    rows = [
        [
            f"{setting}, {pair}",
            measured(entry["median"], entry["standard error"]),
            " to ".join(fixed(end(entry["seeds, best to worst"]), 2) for end in (min, max)),
            f"{entry['printed']:.2f} ± {entry['printed standard error']:.2f}",
            fixed(entry["z"], 1),
            entry["verdict"],
        ]
        for setting, results in parts.items()
        for pair, entry in results.items()
    ]
    columns = ["setting, estimator", "median, ± standard error", "best to worst seed", "printed", "z", "against print"]
    return table(columns, rows)


def live_robust(parts: Parts) -> list[str]:
    """One row for each log and place."""
    lines = []
    for results in parts.values():
        rows = [
            [
                place,
                f"{entry['plain']:.2f}",
                f"{entry['uncertain']:.2f}",
                f"{measured(entry['less'], entry['standard error'])} ({fixed(entry['less, %'], 1)}%)",
            ]
            for place, entry in results.items()
        ]
        columns = [
            "where",
            "trained on the fitted prior",
            "trained on uncertain priors",
            "less regret, ± standard error",
        ]
        lines += table(columns, rows)
    return lines


def any_problem(parts: Parts) -> list[str]:
    """Returns one row for each problem of a set, with the ratio of the run's regret to that of the best rival."""
    lines = []
    for name, results in parts.items():
        rows = [
            [
                found["problem"],
                NAMES.get(found["best rival"], found["best rival"]),
                "tuned" if found["chosen"] == "trained" else NAMES.get(found["chosen"], found["chosen"]),
                f"{found['ratio']:.3f} ({found['standard error']:.3f})",
                f"{found['ratio of the trained policy']:.3f}",
                fixed(found["seconds"], 0),
            ]
            for found in results["problems"]
        ]
        columns = ["problem", "best rival", "policy of the run", "ratio (standard error)", "ratio, tuned", "seconds"]
        lines += [
            f"### Set: {name}",
            "",
            f"Regret of the run's policy over that of the best rival: median {results['median']:.3f}, ninth decile"
            f" {results['ninth decile']:.3f}, worst {results['worst']:.3f}.",
            "",
            *table(columns, rows),
            "",
        ]
    return lines


REGRET_TABLES: dict[str, Callable[[Parts], list[str]]] = {
    "any_problem": any_problem,
    "conditions": conditions,
    "live_robust": live_robust,
    "long_horizon": conditions,
    "no_index": no_index,
    "pretrained": pretrained,
    "published_bernoulli": published_bernoulli,
    "reproduction": reproduction,
}
