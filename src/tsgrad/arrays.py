"""Types of arrays that have a name of their own."""

from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
Leaf = Any  # a leaf of a module: float64 NumPy on the host, whatever JAX makes of it inside a computation
