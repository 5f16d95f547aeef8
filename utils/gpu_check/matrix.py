"""What is checked and what is measured, as data: edit these tables to add a case.

A pairwise set holds every pair of values of any two factors at least once; a seed decides which other values they meet.
"""
import itertools
import random

FACTORS = {
    "dtype": ["bf16", "f16"],
    "depth": [(8, 8), (40, 40), (64, 64), (72, 136), (96, 96), (128, 128), (192, 128), (64, 256), (256, 256)],
    "mask": ["none", "causal=top_left", "causal=bottom_right", "window=100,20,bottom_right", "window=30,none,top_left"],
    "score": ["none", "softcap=5", "alibi=bottom_right", "bias=1xHxQxK", "scale=-0.2"],
    "layout": ["bhsd", "bshd"],
    "heads": [(2, 1), (2, 2)],
    "lengths": [(1, 1), (63, 65), (64, 127), (129, 200), (200, 129), (257, 64), (300, 333)],
    "lengths_are": ["static", "open"],
    "schedule": ["default", "plain", "persistent", "three stages", "three warpgroups"],
}

# Tiles and fields of the schedules by name. Keys per tile follow the depth, so that shared memory and registers suffice.
SCHEDULES = {
    "default": None,
    "plain": dict(tile_q=128, fields=dict(stages=2, warpgroups=2, overlap="false", ping_pong="false", persistent="false")),
    "persistent": dict(tile_q=128, fields=dict(stages=2, warpgroups=2, overlap="true", ping_pong="true", persistent="true")),
    "three stages": dict(tile_q=64, fields=dict(stages=3, warpgroups=1, overlap="true", ping_pong="false", persistent="false")),
    "three warpgroups": dict(tile_q=192, fields=dict(stages=2, warpgroups=3, overlap="false", ping_pong="true", persistent="false")),
}

# Schedule fields one against another: overrides of the default fields. A field that this compiler does not have is
# reported as such and costs nothing.
VARIANTS = {
    "default": {},
    "no overlap": dict(overlap="false"),
    "no ping-pong": dict(ping_pong="false"),
    "no scheduling fence": dict(scheduling_fence="false"),
    "112 keys": dict(tile_kv=112),  # two tiles in an iteration need their registers: to be compared with this
    "unroll by 2, 112 keys": dict(unroll=2, tile_kv=112),
    "persistent": dict(persistent="true"),
    "light first": dict(heavy_first="false"),
    "three stages, 64 keys": dict(stages=3, tile_kv=64),
    "176 keys": dict(tile_kv=176),
}
VARIANT_SHAPES = [dict(depth=128, causal=True), dict(depth=128, causal=False), dict(depth=64, causal=True)]

# Published TFLOP/s of others on H100, forward, 16-bit: FlashAttention-2, Triton, cuDNN, FlashAttention-3.
TABLE_LENGTHS = [1024, 4096, 16384]
PUBLISHED = {
    (64, False): [(306, 382, 373, 392), (321, 400, 408, 476), (324, 403, 413, 497)],
    (64, True): [(229, 291, 288, 265), (284, 363, 363, 420), (299, 363, 388, 473)],
    (128, False): [(350, 372, 574, 565), (368, 389, 609, 638), (370, 395, 595, 648)],
    (128, True): [(260, 273, 410, 423), (319, 353, 518, 579), (335, 378, 539, 616)],
    (256, False): [(313, None, 546, 639), (323, None, 581, 736), (326, None, 581, 756)],
    (256, True): [(251, None, 391, 427), (293, None, 483, 612), (298, None, 509, 642)],
}
TOTAL_TOKENS, HIDDEN = 16384, 2048  # batch = tokens / length, heads = hidden / depth: FlashAttention's papers


def keys_per_tile(depth, stages, warpgroups):
    """A tile that fits: 2 (D + Dv) bytes of shared memory for each key and stage, half a register for each key and query."""
    widest = max(depth)
    if widest <= 64:
        return 128
    if widest <= 128:
        return 96 if stages > 2 else 64 if warpgroups > 2 else 128
    return 48 if stages > 2 else 80


def schedule_text(tile_q, tile_kv, fields):
    inner = ", ".join("%s = %s" % item for item in fields.items())
    return "#fa.schedule<tile_q = %d, tile_kv = %d, target = #fa.hopper<%s>>" % (tile_q, tile_kv, inner)


def is_possible(case):
    """Three warpgroups of queries leave no room for a depth above 128."""
    return case["schedule"] != "three warpgroups" or max(case["depth"]) <= 128


def pairwise(factors, seed, possible=lambda case: True):
    """Cases that hold every possible pair of values, each case chosen among random ones by the pairs it adds."""
    names, chance = list(factors), random.Random(seed)

    def pairs(case):
        return {((a, case[a]), (b, case[b])) for a, b in itertools.combinations(names, 2)}

    def complete(fixed):
        """A possible case with the given values, or None."""
        for _ in range(100):
            case = {name: fixed.get(name, chance.choice(factors[name])) for name in names}
            if possible(case):
                return case
        return None

    wanted = set()
    for a, b in itertools.combinations(names, 2):
        for x, y in itertools.product(factors[a], factors[b]):
            if complete({a: x, b: y}):
                wanted.add(((a, x), (b, y)))
    cases = []
    while wanted:
        seeds = chance.sample(sorted(wanted, key=repr), min(len(wanted), 20))
        candidates = [complete(dict(pair)) for pair in seeds for _ in range(5)]
        best = max((case for case in candidates if case), key=lambda case: len(pairs(case) & wanted))
        wanted -= pairs(best)
        cases.append(best)
    return cases


def checks(seed, count=None):
    """Named cases of the pairwise matrix; the first `count` of them."""
    cases = pairwise(FACTORS, seed, is_possible)[:count]
    return [dict(case, name="check-%03d" % index, seed=seed + index) for index, case in enumerate(cases)]


def check_flags(case):
    """Flags of fa-run that state the problem."""
    flags = ["--dtype=" + case["dtype"], "--depth=%d" % case["depth"][0], "--depth-v=%d" % case["depth"][1],
             "--seq-q=%d" % case["lengths"][0], "--seq-kv=%d" % case["lengths"][1], "--heads=%d" % case["heads"][0],
             "--kv-heads=%d" % case["heads"][1], "--layout=" + case["layout"], "--seed=%d" % case["seed"]]
    flags += ["--" + case[factor] for factor in ("mask", "score") if case[factor] != "none"]
    return flags + (["--dynamic"] if case["lengths_are"] == "open" else [])


def check_schedule(case):
    chosen = SCHEDULES[case["schedule"]]
    if chosen is None:
        return None
    return schedule_text(chosen["tile_q"], keys_per_tile(case["depth"], chosen["fields"]["stages"], chosen["fields"]["warpgroups"]), chosen["fields"])


def describe(case):
    parts = [case["dtype"], "%d/%d" % case["depth"], case["mask"], case["score"], case["layout"], "%d:%d heads" % case["heads"],
             "%dx%d %s" % (case["lengths"] + (case["lengths_are"],)), case["schedule"]]
    return " ".join(part for part in parts if part != "none")


def benchmarks(small):
    """The table, then the variants; `small`: one head of 256, for the emulator."""
    lengths = [256] if small else TABLE_LENGTHS
    result = [shape("table", depth, causal, length, small) for depth in (128, 64, 256) for causal in (True, False)
              for length in reversed(lengths)]
    for wanted in VARIANT_SHAPES[:1] if small else VARIANT_SHAPES:
        for name, override in VARIANTS.items():
            entry = shape("variants", wanted["depth"], wanted["causal"], lengths[-1], small)
            fields = {key: value for key, value in override.items() if key != "tile_kv"}
            entry.update(variant=name, name="%s, %s" % (entry["name"], name),
                         schedule=schedule_text(128, override.get("tile_kv", 128), fields))
            result.append(entry)
    for index, entry in enumerate(result):
        entry["package"] = "bench-%03d" % index
    return result


def shape(group, depth, causal, length, small):
    batch, heads = (1, 1) if small else (TOTAL_TOKENS // length, HIDDEN // depth)
    operations = 4 * length * length * depth * heads * batch
    return dict(group=group, name="d%d %s %d" % (depth, "causal" if causal else "full", length), dtype="bf16", depth=depth,
                causal=causal, length=length, batch=batch, heads=heads, flops=operations // 2 if causal else operations)


def bench_flags(entry):
    flags = ["--dtype=" + entry["dtype"], "--depth=%d" % entry["depth"], "--seq=%d" % entry["length"],
             "--heads=%d" % entry["heads"], "--batch=%d" % entry["batch"]]
    return flags + (["--causal=bottom_right"] if entry["causal"] else [])
