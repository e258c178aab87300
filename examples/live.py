"""Tuning a deployed policy from its own episodes: deploy, record, update, again.

The live system knows its world; the tuner sees only what was recorded, and the model. Run it with

    python examples/live.py
"""

import argparse

import numpy as np
import optax

import tsgrad as tg

PROBLEM = tg.GaussianBandit(noise_std=[0.1, 0.4, 1.0, 4.0, 10.0])
HORIZON = 50


def deploy(policy, *, users, day):
    """The live system: plays one episode for each user and records what it saw and did. Worlds stay inside."""
    runs = tg.simulate(PROBLEM, policy, horizon=HORIZON, episodes=users, seed=day, trajectories=True).trajectories
    return tg.Recorded.of(runs)


def tune(policy, *, days, users, learning_rate):
    """One update a day, from that day's episodes alone."""
    optimizer = optax.adam(learning_rate, b2=0.99)
    state = optimizer.init(tg.parameter_vector(policy))
    for day in range(days):
        episodes = deploy(policy, users=users, day=day)
        gradient = tg.gradient_from_episodes(
            PROBLEM, policy, tg.Estimator("mean", "self", rollouts=4), episodes, seed=day
        )
        # The gradient ascends expected reward; optimizers descend.
        step, state = optimizer.update(-gradient.mean, state)
        policy = tg.with_parameters(policy, tg.parameter_vector(policy) + np.asarray(step))
        yield policy, float(episodes.reward.sum(axis=1).mean())


def main():
    """Tunes for some days, then compares with the start on fresh episodes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--users", type=int, default=512, help="episodes per day")
    parser.add_argument("--learning-rate", type=float, default=0.1)
    options = parser.parse_args()
    policies = [tg.ReshapedThompson(PROBLEM)]
    for day, (policy, reward) in enumerate(tune(policies[0], **vars(options)), start=1):
        policies.append(policy)
        if day % 10 == 0 or day == 1:
            print(f"day {day:3d}: reward {reward:.2f} an episode")
    start, tuned = policies[0], policies[-1]
    print(tg.compare(PROBLEM, {"start": start, "tuned": tuned}, horizon=HORIZON, episodes=20_000, seed=10_000))


if __name__ == "__main__":
    main()
