"""Random numbers by name."""

from __future__ import annotations

import hashlib

import numpy as np


def named_rng(seed: int, *names: str) -> np.random.Generator:
    """Random numbers that depend on a name and a seed, never on a place in a list or on what was drawn before.

    >>> bool(named_rng(0, "a").random() == named_rng(0, "a").random() != named_rng(0, "b").random())
    True
    """
    key = "\x1f".join((str(seed), *names)).encode("utf-8", "surrogatepass")
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(key).digest()[:16])))
