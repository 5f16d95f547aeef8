"""Runs fa-run over masks x score functions and expects every run to validate its tiles and to pass its check."""
import itertools
import subprocess
import sys

MASKS = [
    [],
    ["--causal=top_left"],
    ["--causal=bottom_right", "--window=9,none,bottom_right"],
    ["--window=3,4,top_left"],
]
BIASES = ["x".join(shape) for shape in itertools.product("1B", "1H", "1Q", "1K")]
SCORES = [["--softcap=3"], ["--alibi=top_left"], ["--alibi=bottom_right", "--softcap=2"]] + [[f"--bias={b}"] for b in BIASES]
LENGTHS = [(37, 61), (61, 37)]

failures = 0
runs = 0
for mask, score, (sq, sk) in itertools.product(MASKS, SCORES, LENGTHS):
    command = ["fa-run", "--validate", "--batch=2", "--heads=2", "--depth=16", f"--seq-q={sq}", f"--seq-kv={sk}",
               "--schedule=tile_q=8,tile_kv=4", *mask, *score]
    done = subprocess.run(command, capture_output=True, text=True)
    runs += 1
    if done.returncode != 0 or "validated" not in done.stdout or "check     passed" not in done.stdout:
        failures += 1
        print(" ".join(command), done.stdout, done.stderr, sep="\n", file=sys.stderr)
print(f"{runs} runs, {failures} failures")
sys.exit(failures != 0)
