"""random_problems.py SEED COUNT FORM,...: fa-run on random problems; prints those that fail their check.

Forms: auto, vector, loops, key_outer (plain loops, FlashAttention-1), naive.
"""
import random
import subprocess
import sys


def shape(pick):
    kv_heads, group = pick([1, 1, 2, 3]), pick([1, 1, 2, 4])
    return [
        "--batch=%d" % pick([1, 1, 2, 3]),
        "--heads=%d" % (kv_heads * group),
        "--kv-heads=%d" % kv_heads,
        "--seq-q=%d" % pick([0, 1, 2, 5, 16, 17, 33, 64, 100, 130]),
        "--seq-kv=%d" % pick([0, 1, 2, 7, 16, 31, 64, 65, 129, 200]),
        "--depth=%d" % pick([1, 2, 3, 7, 8, 16, 24, 33, 64, 80]),
        "--depth-v=%d" % pick([1, 2, 5, 8, 16, 40, 64]),
        "--dtype=" + pick(["f32", "f32", "f64", "f16", "bf16"]),
        "--layout=" + pick(["bhsd", "bhsd", "bshd"]),
    ]


def options(pick):
    """Each kind of option is there or not."""
    corner = ["top_left", "bottom_right"]
    window = "%s,%s,%s" % (pick(["none", 0, 1, 5, 40]), pick(["none", 0, 1, 7]), pick(corner))
    kinds = [
        (0.5, "--causal=" + pick(corner)),
        (0.4, "--window=" + window),
        (0.2, "--softcap=%g" % pick([1, 5.5, 30])),
        (0.2, "--alibi=" + pick(corner)),
        (0.2, "--bias=" + pick(["QxK", "1xHx1xK", "BxHxQxK", "BxHxQx1"])),
        (0.4, "--dynamic"),
        (0.2, "--no-lse"),
        (0.3, "--scale=%g" % pick([0, -1, 0.3, 1, -0.01, 20])),
        (0.3, "--fill=q=normal:%g,%g" % (pick([0, 3]), pick([1, 10, 50]))),
    ]
    return [flag for likely, flag in kinds if random.random() < likely]


def form(name, pick):
    if name == "naive":
        return ["--lowering=naive"]
    flags = ["--lowering=" + ("loops" if name == "key_outer" else name)]
    if name == "key_outer":
        flags.append("--order=key_outer")
    if random.random() < 0.8:
        flags.append("--schedule=tile_q=%d,tile_kv=%d" % (pick([1, 3, 8, 16, 32, 64, 128]), pick([1, 4, 8, 16, 32, 64, 128])))
    return flags


def main():
    random.seed(int(sys.argv[1]))
    count, forms, failed = int(sys.argv[2]), sys.argv[3].split(","), 0
    for _ in range(count):
        command = ["fa-run"] + shape(random.choice) + options(random.choice) + form(random.choice(forms), random.choice)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            failed += 1
            print("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    print("%d problems, %d failed" % (count, failed))


main()
