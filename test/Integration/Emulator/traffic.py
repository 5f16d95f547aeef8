#!/usr/bin/env python3
"""Compares the bytes that the emulator counts for emitted forward kernels with the traffic model, per tensor, to the byte.

usage: traffic.py FOLDER [--full]

Each case is compiled to a package, executed by fa-emulate from the package alone, and predicted by fa-run.
"""
import itertools
import json
import os
import random
import struct
import subprocess
import sys

MASKS = {
    "full": ([], ""),
    "causal": (["--causal=bottom_right"], "masks [#fa.causal<bottom_right>]"),
    "window": (["--window=70,0,bottom_right"], "masks [#fa.window<left = 70, right = 0, bottom_right>]"),
}


def write_npy(path: str, shape: tuple, rng: random.Random) -> None:
    """Random bf16 numbers as raw 16-bit words."""
    count = 1
    for size in shape:
        count *= size
    header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(b"".join(struct.pack("<f", rng.gauss(0, 1))[2:] for _ in range(count)))


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compile_package(folder: str, depth: int, depth_v: int, mask: str) -> str:
    q, k, v = (f"memref<1x?x?x{d}xbf16>" for d in (depth, depth, depth_v))
    source = f"""func.func @attention(%q: {q} {{fa.name = "q"}}, %k: {k} {{fa.name = "k"}}, %v: {v} {{fa.name = "v"}},
        %o: {v} {{fa.name = "o"}}, %lse: memref<1x?x?xf32> {{fa.name = "lse"}}) {{
      fa.attention ins(%q, %k, %v : {q}, {k}, {v}) outs(%o, %lse : {v}, memref<1x?x?xf32>) {MASKS[mask][1]}
      return
    }}"""
    path = os.path.join(folder, f"{mask}-{depth}-{depth_v}")
    with open(path + ".mlir", "w") as file:
        file.write(source)
    run("fa-compile", path + ".mlir", "--target=sm_90a", "--emit=package", "-o", path)
    return path


def counted(folder: str, package: str, shapes: dict) -> dict:
    rng = random.Random(1)
    binds = []
    for name in ("q", "k", "v"):
        file = os.path.join(folder, name + ".npy")
        write_npy(file, shapes[name], rng)
        binds += ["--bind", f"{name}=in:{file}:bf16"]
    for name, dtype in (("o", "bf16"), ("lse", "f32")):
        file = os.path.join(folder, name + ".npy")
        binds += ["--bind", f"{name}=out:{file}:{dtype}:" + "x".join(map(str, shapes[name]))]
    kernel = os.path.join(package, "attention_kernel")
    output = run("fa-emulate", "--ptx", kernel + ".ptx", "--descriptor", kernel + ".json", *binds, "--stats", "--format=json")
    return {b["name"]: (b["bytes_read"], b["bytes_written"]) for b in json.loads(output)["runs"][0]["counters"]["buffers"]}


def predicted(mask: str, heads: int, kv_heads: int, seq_q: int, seq_kv: int, depth: int, depth_v: int) -> dict:
    output = run("fa-run", "--device=emulator", "--dtype=bf16", f"--heads={heads}", f"--kv-heads={kv_heads}",
                 f"--seq-q={seq_q}", f"--seq-kv={seq_kv}", f"--depth={depth}", f"--depth-v={depth_v}", "--dynamic",
                 "--format=json", *MASKS[mask][0])
    tensors = json.loads(output)["run"]["traffic"]["tensors"]
    return {name: (t["read_issued"], t["written_issued"]) for name, t in tensors.items()}


def main() -> int:
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    full = "--full" in sys.argv
    depths = [(64, 64), (128, 128), (192, 128), (80, 80), (256, 256)] if full else [(128, 128), (80, 80)]
    lengths = [(1, 1), (63, 200), (129, 129), (200, 300), (300, 200), (257, 640)] if full else [(1, 65), (200, 300), (257, 130)]
    groups = [(2, 1), (2, 2)] if full else [(2, 1)]
    wrong = cases = 0
    for mask, (depth, depth_v) in itertools.product(MASKS, depths):
        package = compile_package(folder, depth, depth_v, mask)
        for (seq_q, seq_kv), (heads, kv_heads) in itertools.product(lengths, groups):
            shapes = {"q": (1, heads, seq_q, depth), "k": (1, kv_heads, seq_kv, depth), "v": (1, kv_heads, seq_kv, depth_v),
                      "o": (1, heads, seq_q, depth_v), "lse": (1, heads, seq_q)}
            count = counted(folder, package, shapes)
            model = predicted(mask, heads, kv_heads, seq_q, seq_kv, depth, depth_v)
            cases += 1
            if count != model:
                wrong += 1
                print(f"{mask} {shapes}: counted {count}, predicted {model}")
    print(f"{cases} cases, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
