"""Random generators that are seeded by a name, so that a draw does not depend on the order of draws."""

from __future__ import annotations

import hashlib

import numpy as np


def named_rng(seed: int, *names: str) -> np.random.Generator:
    """Make a generator that depends on the seed and the names only, not on what was drawn before.

    >>> bool(named_rng(0, "a").random() == named_rng(0, "a").random() != named_rng(0, "b").random())
    True
    """
    key = "\x1f".join((str(seed), *names)).encode("utf-8", "surrogatepass")
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(key).digest()[:16])))
