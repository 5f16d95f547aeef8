"""FlashAttention on NumPy arrays, compiled for the shapes and options at hand.

    import numpy as np, fa
    q, k, v = (np.random.randn(8, 1024, 64).astype(np.float32) for _ in range(3))
    o = fa.flash_attention_forward(q, k, v, Br=128, Bc=128, causal=True)

Everything is one formula, O = softmax(mask(score(scale * Q K^T))) V, in this order: dot, scale, softcap, bias, ALiBi, mask,
softmax. Arrays are [batch, heads, sequence, depth]; leading dimensions may be left out ([heads, sequence, depth] or
[sequence, depth]) and then are missing in the result too. Any strides are accepted without a copy.

Needs NumPy and the shared library libfa.so of this project's build; nothing is built or installed by this package.
"""
from ._attention import attention, flash_attention_forward, naive_attention, reference_attention
from ._library import Error, compile_count, library_path, version

__all__ = [
    "attention", "flash_attention_forward", "naive_attention", "reference_attention",
    "Error", "compile_count", "library_path", "version",
]
