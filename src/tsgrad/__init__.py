"""tsgrad tunes Thompson sampling: state a Bayesian bandit and a horizon, get the sampling policy that earns most.

    >>> import tsgrad as tg
    >>> problem = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])
    >>> run = tg.train(problem, tg.ReshapedThompson(problem), tg.Estimator("mean", "self"), horizon=20,
    ...                episodes=512, iterations=40, seed=0)
    >>> run.improved
    True

The public names are those of `__init__.pyi`; each is loaded when it is first used, so that importing the package
costs nothing.
"""

from typing import Any

import lazy_loader

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tsgrad")
    return _public_name(name)
