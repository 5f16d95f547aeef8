"""Makes inputs, and compares the outputs of fa-run with attention written in NumPy (grouped heads, causal bottom_right)."""
import os
import sys

import numpy as np

mode, folder = sys.argv[1:]


def path(name):
    return os.path.join(folder, name + ".npy")


if mode == "make":
    rng = np.random.default_rng(3)
    for name, shape in {"q": (1, 4, 33, 24), "k": (1, 2, 65, 24), "v": (1, 2, 65, 16)}.items():
        np.save(path(name), rng.standard_normal(shape))
else:
    q, k, v, o, lse = (np.load(path(name)) for name in ("q", "k", "v", "o", "lse"))
    k, v = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    s = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(24)
    i, j = np.arange(33)[:, None], np.arange(65)[None, :]
    s[..., j > i + 65 - 33] = -np.inf
    m = s.max(axis=-1, keepdims=True)
    p = np.exp(s - m)
    total = p.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(o, np.einsum("bhij,bhjd->bhid", p / total, v), rtol=0, atol=1e-13)
    np.testing.assert_allclose(lse, (m + np.log(total))[..., 0], rtol=0, atol=1e-13)
