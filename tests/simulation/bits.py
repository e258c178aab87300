"""What must not depend on who computes: a digest of every kind of result. A program too, for processes that are set up
otherwise: `python bits.py jax native` prints the digests of these engines as JSON.
"""

import hashlib
import json
import sys

import numpy as np

import tsgrad as tg

PROBLEM = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])
POLICY = tg.ReshapedThompson(PROBLEM)
ESTIMATOR = tg.Estimator("mean", "self")
EPISODES = 1000  # four blocks, the last one padded


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def training(engine, workers, iterations=50, **options):
    """A short training."""
    run = tg.train(
        PROBLEM,
        POLICY,
        ESTIMATOR,
        horizon=4,
        episodes=EPISODES,
        iterations=iterations,
        validation_episodes=EPISODES,
        engine=engine,
        workers=workers,
        **options,
    )
    return found(run)


def found(run):
    """The last and the selected meta-parameters of a training, and its gain."""
    return digest(tg.parameter_vector(run.last), tg.parameter_vector(run.trained), run.gain)


def digests(engine, workers):
    """Gradient, simulation, comparison with its bound, and training."""
    where = {"horizon": 4, "episodes": EPISODES, "seed": 3, "engine": engine, "workers": workers}
    gradient = tg.gradient(PROBLEM, POLICY, ESTIMATOR, fisher=True, **where)
    played = tg.simulate(PROBLEM, POLICY, **where)
    compared = tg.compare(PROBLEM, {"plain": tg.Thompson(), "reshaped": POLICY}, **where)
    return {
        "gradient": digest(gradient.mean, gradient.standard_error, gradient.fisher, gradient.regret),
        "simulate": digest(played.regret, played.reward, played.regret_over_time, played.pulls),
        "compare": digest(*compared.regrets.values(), compared.bound.regret),
        "train": training(engine, workers),
    }


if __name__ == "__main__":
    print(json.dumps({engine: digests(engine, tg.LocalWorkers()) for engine in sys.argv[1:]}))
