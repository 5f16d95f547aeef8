"""Random attention problems: kernels against the reference. Usage: random_test.py CASES [SEED]"""
import sys

import numpy as np

import fa

TOLERANCE = {np.float64: 1e-12, np.float32: 3e-5, np.float16: 8e-3}
LENGTHS = (0, 1, 2, 5, 16, 17, 31, 33, 64, 65, 100, 127, 128, 129, 200)
DEPTHS = (1, 3, 8, 16, 20, 32, 40, 64, 72, 128)


def make_arrays(random):
    """q, k, v with grouped heads, unequal depths, and sometimes strides of their own."""
    dtype = random.choice([np.float32, np.float64, np.float16])
    batch, kv_heads, group = (int(random.integers(1, 3)) for _ in range(3))
    queries, keys = (int(random.choice(LENGTHS)) for _ in range(2))
    depth, depth_v = (int(random.choice(DEPTHS)) for _ in range(2))
    q = random.standard_normal((batch, kv_heads * group, queries, depth)).astype(dtype)
    k = random.standard_normal((batch, kv_heads, keys, depth)).astype(dtype)
    v = random.standard_normal((batch, kv_heads, keys, depth_v)).astype(dtype)
    if random.random() < 0.3:  # heads inside of the sequence
        q = np.ascontiguousarray(q.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    if random.random() < 0.2:  # depth outside of the sequence
        k = np.ascontiguousarray(k.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
    if random.random() < 0.2:  # negative strides
        v = v[:, :, ::-1]
    return dtype, q, k, v


def make_options(random, q, k):
    """What changes the result."""
    corner = lambda: str(random.choice(["top_left", "bottom_right"]))
    bound = lambda most: None if random.random() < 0.25 else int(random.integers(0, most))
    options = {}
    if random.random() < 0.6:
        options["causal"] = corner()
    if random.random() < 0.4:
        options["window"] = (bound(40), bound(20), corner())
    if random.random() < 0.3:
        options["softcap"] = float(random.uniform(0.5, 20))
    if random.random() < 0.3:
        options["scale"] = float(random.choice([0, -0.3, 0.7, 2]))
    if random.random() < 0.3:
        full = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        shape = [size if random.random() < 0.6 else 1 for size in full]
        options["bias"] = random.standard_normal(shape).astype(q.dtype)
    if random.random() < 0.2:
        options.update(alibi_slopes=random.uniform(0, 0.5, q.shape[1]), alibi=corner())
    return options


def make_schedule(random):
    """What must not change it."""
    schedule = {}
    if random.random() < 0.5:
        schedule.update(tile_q=int(random.choice([1, 8, 16, 48, 64, 128])), tile_kv=int(random.choice([1, 7, 16, 64, 128])))
    if random.random() < 0.2:
        schedule["order"] = "key_outer"
    return schedule if random.random() < 0.9 else {"naive": True}


def agrees(dtype, result, expected):
    """Same infinities and NaN, the rest within the tolerance of the type."""
    finite = np.isfinite(expected)
    return (np.array_equal(result[~finite], expected[~finite].astype(dtype), equal_nan=True) and
            np.allclose(result[finite], expected[finite], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]))


def main(cases, seed):
    random = np.random.default_rng(seed)
    failures = 0
    for case in range(cases):
        dtype, q, k, v = make_arrays(random)
        options, schedule = make_options(random, q, k), make_schedule(random)
        o, lse = fa.attention(q, k, v, return_lse=True, **options, **schedule)
        expected, expected_lse = fa.reference_attention(q, k, v, return_lse=True, **options)
        if not (agrees(dtype, o, expected) and agrees(dtype, lse, expected_lse)):
            failures += 1
            print(f"case {case}: {dtype.__name__} q {q.shape} {q.strides} k {k.shape} {k.strides} v {v.shape} {v.strides} "
                  f"{options} {schedule}")
    print(f"{cases} cases, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
