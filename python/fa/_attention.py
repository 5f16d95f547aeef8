"""The functions of the package, over NumPy arrays."""
import ctypes

import numpy as np

from . import _library

_DTYPES = {"float64": 0, "float32": 1, "float16": 2, "bfloat16": 3}
_CORNERS = {None: 0, "top_left": 1, "bottom_right": 2}
_UNLIMITED = 2**63 - 1


def _check_array(name, array):
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected {name} to be a numpy.ndarray, but got {type(array).__name__}")
    if array.dtype.name not in _DTYPES or not array.dtype.isnative:
        raise TypeError(f"expected {name} of dtype {', '.join(_DTYPES)}, but got {array.dtype}")
    return array


def _tensor(name, array):
    """A view of the array as the library's struct; keeps what it points at alive."""
    _check_array(name, array)
    width = array.dtype.itemsize
    if any(stride % width for stride in array.strides):
        array = np.ascontiguousarray(array)  # fields of a structured array
    rank = array.ndim
    sizes = (ctypes.c_int64 * rank)(*array.shape)
    strides = (ctypes.c_int64 * rank)(*(stride // width for stride in array.strides))
    tensor = _library.Tensor(array.ctypes.data, _DTYPES[array.dtype.name], rank, sizes, strides)
    tensor.keep = (array, sizes, strides)
    return tensor


def _to_four(name, array):
    _check_array(name, array)
    if not 2 <= array.ndim <= 4:
        raise ValueError(f"expected {name} of 2 to 4 dimensions ([batch, heads,] sequence, depth), but got {array.ndim}")
    return array.reshape((1,) * (4 - array.ndim) + array.shape) if array.ndim < 4 else array


def _corner(name, value, queries, keys):
    """The corner that True stands for is clear only when both lengths agree."""
    if value is True:
        if queries != keys:
            raise ValueError(f"expected {name}='top_left' or 'bottom_right', because there are {queries} queries and {keys} keys, "
                             f"but got True")
        return _CORNERS["top_left"]
    if value is False:
        return 0
    if value not in _CORNERS:
        raise ValueError(f"expected {name} to be False, True, 'top_left' or 'bottom_right', but got {value!r}")
    return _CORNERS[value]


def _set_window(options, window, queries, keys):
    if window is None:
        return
    if not isinstance(window, (tuple, list)) or len(window) not in (2, 3):
        raise ValueError(f"expected window=(left, right) or (left, right, corner), but got {window!r}")
    left, right = (_UNLIMITED if bound is None else int(bound) for bound in window[:2])
    options.window_left, options.window_right = left, right
    options.window_corner = _corner("window's corner", window[2] if len(window) == 3 else True, queries, keys)


def _prepare(q, k, v, scale, causal, window, softcap, bias, alibi_slopes, alibi):
    """(q, k, v as 4-D arrays, options); what options point at hangs on them."""
    ranks = {q.ndim if isinstance(q, np.ndarray) else None, getattr(k, "ndim", None), getattr(v, "ndim", None)}
    q4, k4, v4 = (_to_four(name, array) for name, array in (("q", q), ("k", k), ("v", v)))
    if len(ranks) != 1:
        raise ValueError(f"expected q, k and v of the same number of dimensions, but got {q.ndim}, {k.ndim} and {v.ndim}")
    queries, keys = q4.shape[2], k4.shape[2]
    options = _library.default_options()
    if scale is not None:
        options.scale = float(scale)
    options.softcap = 0.0 if softcap is None else float(softcap)
    options.causal = _corner("causal", causal, queries, keys)
    _set_window(options, window, queries, keys)
    if bias is not None:
        options.keep_bias = _tensor("bias", bias)
        options.bias = ctypes.pointer(options.keep_bias)
    if alibi_slopes is not None:
        options.keep_slopes = _tensor("alibi_slopes", np.ascontiguousarray(alibi_slopes, dtype=np.float32))
        options.alibi_slopes = ctypes.pointer(options.keep_slopes)
        options.alibi = _corner("alibi", alibi, queries, keys)
    return q4, k4, v4, options


def _run(name, q, q4, k4, v4, options, return_lse, output_dtype, lse_dtype):
    o = np.empty(q4.shape[:3] + v4.shape[3:], dtype=output_dtype)
    lse = np.empty(q4.shape[:3], dtype=lse_dtype) if return_lse else None
    tensors = [_tensor("q", q4), _tensor("k", k4), _tensor("v", v4), _tensor("o", o),
               _tensor("lse", lse) if return_lse else None]
    _library.call(name, tensors, options)
    o = o.reshape(q.shape[:-1] + o.shape[-1:])
    return (o, lse.reshape(q.shape[:-1])) if return_lse else o


def attention(q, k, v, *, scale=None, causal=False, window=None, softcap=None, bias=None, alibi_slopes=None, alibi=True,
              tile_q=0, tile_kv=0, order="query_outer", naive=False, threads=0, return_lse=False):
    """Attention by a kernel that is compiled on first use for the dtype, heads, depths and options, and then kept.

    q             [batch, heads, queries, depth]; leading dimensions may be left out
    k, v          [batch, kv_heads, keys, depth] and [batch, kv_heads, keys, depth_v]; heads is a multiple of kv_heads, and
                  query head h reads head h // (heads // kv_heads). All of one dtype: float64, float32, float16 or bfloat16
                  (from the package ml_dtypes)
    scale         factor of the dot products; None: 1 / sqrt(depth)
    causal        False, 'top_left' (key <= query), 'bottom_right' (the last query sees all keys), or True if lengths agree
    window        (left, right) or (left, right, corner): keys before and after the query's position, inclusive; None: unlimited
    softcap       s = softcap * tanh(s / softcap)
    bias          added to the scores; dtype of q, shape broadcastable to [batch, heads, queries, keys]
    alibi_slopes  [heads]: s -= slope[head] * |position - key|; `alibi` is the corner of the position, as for causal
    tile_q, tile_kv   tile sizes; 0: chosen for the machine
    order         'query_outer' (FlashAttention-2) or 'key_outer' (FlashAttention-1)
    naive         three passes that store all scores, for comparison
    threads       0: one for each core; results do not depend on it
    return_lse    also return the log-sum-exp of each row

    Returns O [batch, heads, queries, depth_v] in the dtype of q, or (O, LSE) with LSE [batch, heads, queries] in natural log,
    float32 (float64 for float64). A query that sees no key gives O = 0 and LSE = -inf.

    Raises ValueError for contradictory shapes or options, TypeError for other arrays, fa.Error if compiling or running fails.
    """
    q4, k4, v4, options = _prepare(q, k, v, scale, causal, window, softcap, bias, alibi_slopes, alibi)
    if order not in ("query_outer", "key_outer"):
        raise ValueError(f"expected order='query_outer' or 'key_outer', but got {order!r}")
    if not 0 <= threads <= 4096:
        raise ValueError(f"expected threads from 0 to 4096, but got {threads}")
    options.order = int(order == "key_outer")
    options.form = int(bool(naive))
    options.tile_q, options.tile_kv, options.threads = tile_q, tile_kv, threads
    lse_dtype = np.float64 if q.dtype == np.float64 else np.float32
    return _run("fa_attention_forward", q, q4, k4, v4, options, return_lse, q.dtype, lse_dtype)


def reference_attention(q, k, v, *, scale=None, causal=False, window=None, softcap=None, bias=None, alibi_slopes=None,
                        alibi=True, threads=0, return_lse=False):
    """The same by the slow, independent reference in float64 (extended precision for float64 inputs); see `attention` for
    the arguments. Returns float64 arrays: what to compare any other result with."""
    q4, k4, v4, options = _prepare(q, k, v, scale, causal, window, softcap, bias, alibi_slopes, alibi)
    options.threads = threads
    return _run("fa_attention_reference", q, q4, k4, v4, options, return_lse, np.float64, np.float64)


def flash_attention_forward(Q, K, V, Br, Bc, causal=False, return_lse=False):
    """FlashAttention-2: tiles of Br queries and Bc keys, an online softmax, no N x N matrix.

    Q [N, d], K [N, d], V [N, d] (or with leading heads and batch dimensions); Br and Bc need not divide N.
    Returns O, or (O, LSE). Dao, FlashAttention-2, arXiv:2307.08691, algorithm 1.
    """
    for name, size in (("Br", Br), ("Bc", Bc)):
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(f"expected {name} to be an integer of 1 or more, but got {size!r}")
    return attention(Q, K, V, causal=causal, tile_q=int(Br), tile_kv=int(Bc), return_lse=return_lse)


def naive_attention(Q, K, V, causal=False, return_lse=False):
    """The textbook form in three passes: S = Q K^T / sqrt(d), P = softmax(S), O = P V, with S and P stored in full."""
    return attention(Q, K, V, causal=causal, naive=True, return_lse=return_lse)
