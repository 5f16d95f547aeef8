"""Every combination of dtype, depth, mask and schedule, each at lengths that are multiples of nothing, on the emulator
with all checks, under eleven schedules each.

matrix.py FA_RUN   prints one line per failure and a summary; exit status 1 if anything failed.
"""
import itertools
import subprocess
import sys

DTYPES = ["bf16", "f16"]
DEPTHS = [(8, 8), (40, 40), (64, 64), (72, 136), (96, 96), (128, 128), (192, 128), (192, 192), (256, 256)]
MASKS = [[], ["--causal=bottom_right"], ["--causal=top_left"], ["--window=100,20,bottom_right"], ["--softcap=5", "--causal=bottom_right"],
         ["--alibi=bottom_right"], ["--bias=1xHxQxK"]]
SCHEDULES = ["overlap = true, ping_pong = true, persistent = false", "overlap = false, ping_pong = false, persistent = false",
             "overlap = true, ping_pong = false, persistent = true", "unroll = 2", "unroll = 2, persistent = true, scheduling_fence = false"]
LENGTHS = [(1, 1), (63, 65), (64, 127), (129, 200), (200, 129), (257, 64), (300, 333)]


def main(fa_run):
    failures = runs = 0
    for index, (dtype, depths, mask, fields) in enumerate(itertools.product(DTYPES, DEPTHS, MASKS, SCHEDULES)):
        queries, keys = LENGTHS[index % len(LENGTHS)]
        small, large = (64, 112) if "unroll = 2" in fields else (80, 128)
        tile = large if max(depths) <= 128 else small
        schedule = f"#fa.schedule<tile_q = 128, tile_kv = {tile}, target = #fa.hopper<stages = 2, warpgroups = 2, {fields}>>"
        flags = [f"--dtype={dtype}", f"--depth={depths[0]}", f"--depth-v={depths[1]}", f"--seq-q={queries}", f"--seq-kv={keys}",
                 "--heads=2", "--kv-heads=1", "--repeat=11", *mask, f"--schedule={schedule}"]
        done = subprocess.run([fa_run, "--device=emulator", *flags], capture_output=True, text=True)
        runs += 1
        if done.returncode != 0:
            failures += 1
            print("FAIL", " ".join(flags), (done.stderr or done.stdout).strip().splitlines()[-1:])
    print(f"{runs} kernels, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
