"""FlashAttention from Python: tiled against naive, causal against the reference, a sliding window with a soft cap.

    PYTHONPATH=python python3 examples/python/flash_attention.py
"""
import time

import numpy as np

import fa

random = np.random.default_rng(0)
q, k, v = (random.standard_normal((4, 300, 64)) for _ in range(3))  # [heads, sequence, depth], float64

tiled = fa.flash_attention_forward(q, k, v, Br=64, Bc=32)
naive = fa.naive_attention(q, k, v)
print(f"tiled minus naive {abs(tiled - naive).max():.1e}")

causal, lse = fa.flash_attention_forward(q, k, v, Br=64, Bc=32, causal=True, return_lse=True)
reference = fa.reference_attention(q, k, v, causal=True)
print(f"causal minus reference {abs(causal - reference).max():.1e}")

# Any variant, in float32: 16 keys to the left, scores capped at 20. The second call reuses the kernel for another length.
q, k, v = (x.astype(np.float32) for x in (q, k, v))
for length in (300, 200):
    start = time.perf_counter()
    o = fa.attention(q[:, :length], k[:, :length], v[:, :length], window=(16, 0), softcap=20.0)
    print(f"window of {length} queries: {1e3 * (time.perf_counter() - start):.1f} ms, first row is v[0]:",
          np.allclose(o[:, 0], v[:, 0]))

print(f"compiled {fa.compile_count()} kernels")
