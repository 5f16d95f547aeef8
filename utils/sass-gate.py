"""What ptxas made of the default schedules: instruction counts against hopper kernels written by hand, one wait per product,
exponentials under the product that should hide them.

sass-gate.py FA_COMPILE [--matrix]   prints one line per kernel; exit status 1 if one breaks a rule. Needs ptxas, where
fa-compile finds it. --matrix: depths x masks and score functions x schedules instead of the defaults, without counts.
"""
import argparse
import collections
import itertools
import pathlib
import struct
import subprocess
import sys
import tempfile

# SASS instructions of a hand-written generator for the same shape (ptxas 13.0): (depth, causal, persistent).
REFERENCE = {(64, False, False): 1200, (64, True, False): 1824, (128, False, False): 1360, (128, True, False): 2056,
             (128, True, True): 2208, (256, False, False): 1432, (256, True, False): 2168}
TOLERANCE = 1.25
KEY_TILE = {64: 128, 128: 128, 256: 80}
DEPTHS = [(8, 8), (40, 40), (64, 64), (72, 136), (96, 96), (128, 128), (192, 128), (192, 192), (256, 256)]
REGIONS = ["", " masks [#fa.causal<bottom_right>]", " masks [#fa.window<left = 100, right = 20, bottom_right>]",
           """ score (%s: f32, %b: index, %h: index, %i: index, %j: index) {
    %t = math.tanh %s : f32
    fa.yield %t : f32
  }"""]
FIELDS = ["", "overlap = false, ping_pong = false", "ping_pong = false, persistent = true", "unroll = 2",
          "persistent = true, scheduling_fence = false, unroll = 2"]
# The low 12 bits of a 128-bit instruction of sm_90.
MUFU, WARPGROUP, HGMMA_SHARED, HGMMA_REGISTERS = 0x308, 0x9C5, 0x9F0, 0xDF0


def instructions(cubin):
    """Opcodes of the only kernel of an ELF file, in the order of their addresses."""
    table, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    start = sections[names][4]
    for name, _, _, _, offset, length in sections:
        if cubin[start + name:].startswith(b".text."):
            return [int.from_bytes(cubin[at:at + 2], "little") & 0xFFF for at in range(offset, offset + length, 16)]
    raise SystemExit("expected a .text section in the cubin, but got none")


def exponentials(opcodes):
    """For each overlapped tile, in code order: exponentials between the product with the values and its wait, and after it.

    A wait is the second of a product's two WARPGROUP instructions: with two products in flight, arrive arrive wait wait."""
    tiles, state, under, after = [], None, 0, 0
    for opcode in opcodes:
        if opcode == WARPGROUP:
            if state == "wait for scores":
                state, under = "softmax", 0
            elif state == "softmax":
                state, after = "after", 0
                tiles.append([under, 0])
            elif state == "after":
                state = None
        elif opcode == HGMMA_SHARED:
            state = "scores"
        elif opcode == HGMMA_REGISTERS:
            state = "wait for scores" if state in ("scores", "wait for scores") else None
        elif opcode == MUFU:
            if state == "softmax":
                under += 1
            elif state == "after":
                tiles[-1][1] += 1
    return tiles


def source(depth, depth_v, dtype, regions):
    return f"""!t = memref<?x?x?x{depth}x{dtype}>
!v = memref<?x?x?x{depth_v}x{dtype}>
func.func @attention(%q: !t {{fa.name = "q"}}, %k: !t {{fa.name = "k"}}, %v: !v {{fa.name = "v"}}, %o: !v {{fa.name = "o"}},
                     %lse: memref<?x?x?xf32> {{fa.name = "lse"}}) {{
  fa.attention ins(%q, %k, %v : !t, !t, !v) outs(%o, %lse : !v, memref<?x?x?xf32>) scale({depth ** -0.5}){regions}
  return
}}
"""


def compiled(fa_compile, text, schedule):
    """PTX, opcodes and what the compiler complained of, in a list."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kernel.mlir").write_text(text)
        command = [fa_compile, str(folder / "kernel.mlir"), "--emit=package", "-o", str(folder / "kernel.fa")]
        done = subprocess.run(command + ([f"--schedule={schedule}"] if schedule else []), capture_output=True, text=True)
        complaints = [line for line in done.stderr.splitlines() if "error:" in line or "warning:" in line]
        if done.returncode:
            return "", [], complaints or [f"exit status {done.returncode}"]
        return (next((folder / "kernel.fa").glob("*.ptx")).read_text(),
                instructions(next((folder / "kernel.fa").glob("*.cubin")).read_bytes()), complaints)


def check(fa_compile, name, text, schedule, limit=None, exponentials_per_tile=None, is_hidden=True):
    ptx, opcodes, complaints = compiled(fa_compile, text, schedule)
    products, waits = ptx.count("wgmma.commit_group"), collections.Counter(opcodes)[WARPGROUP]
    tiles = exponentials(opcodes)
    if limit and len(opcodes) > limit:
        complaints.append(f"expected at most {limit} instructions")
    if waits != 2 * products:
        complaints.append(f"expected an arrival and a wait for each of {products} products, but got {waits} of both")
    if exponentials_per_tile and (not tiles or any(tile != [exponentials_per_tile, 0] for tile in tiles)):
        complaints.append(f"expected {exponentials_per_tile} exponentials under each product")
    if is_hidden and any(after for _, after in tiles):
        complaints.append("expected no exponential after the product that hides it")
    overlapped = ", ".join(f"{under} of {under + after}" for under, after in tiles)
    print(f"{name}: {len(opcodes)} instructions{f' (limit {limit})' if limit else ''}, {products} products, {waits} arrivals "
          f"and waits, exponentials overlapped: {overlapped or 'none'}" + "".join(f"\n  FAIL: {c}" for c in complaints))
    return not complaints


def schedule(tile_kv, fields):
    return f"#fa.schedule<tile_q = 128, tile_kv = {tile_kv}, target = #fa.hopper{f'<{fields}>' if fields else ''}>"


def tile_kv(depth, fields):
    """Of 16-bit tiles with 128 queries, near the largest that fit."""
    small, large = (64, 112) if "unroll = 2" in fields else (80, 128)
    return large if depth <= 128 else small


def defaults(fa_compile):
    for ((depth, causal, persistent), reference), dtype in itertools.product(REFERENCE.items(), ("bf16", "f16")):
        name = f"{dtype} depth {depth} {'causal' if causal else 'full'}{' persistent' if persistent else ''}"
        yield check(fa_compile, name, source(depth, depth, dtype, REGIONS[causal]),
                    schedule(KEY_TILE[depth], "persistent = true") if persistent else None, int(TOLERANCE * reference),
                    KEY_TILE[depth] // 2 + 2)


def matrix(fa_compile):
    for index, ((depth, depth_v), fields) in enumerate(itertools.product(DEPTHS, FIELDS)):
        dtype, regions = ("bf16", "f16")[index % 2], index % len(REGIONS)
        yield check(fa_compile, f"{dtype} depth {depth} x {depth_v} region {regions} <{fields}>",
                    source(depth, depth_v, dtype, REGIONS[regions]),
                    schedule(tile_kv(max(depth, depth_v), fields), fields), is_hidden="scheduling_fence = false" not in fields)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fa_compile")
    parser.add_argument("--matrix", action="store_true")
    arguments = parser.parse_args()
    results = list((matrix if arguments.matrix else defaults)(arguments.fa_compile))
    print(f"{sum(results)} of {len(results)} kernels within their limits")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
