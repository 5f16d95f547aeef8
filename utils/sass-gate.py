"""What ptxas made of the default schedules: instruction counts against hopper kernels written by hand, one wait per product,
exponentials under the product that should hide them.

sass-gate.py FA_COMPILE   prints one line per kernel; exit status 1 if one breaks a rule. Needs ptxas, where fa-compile finds it.
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
PERSISTENT = ("#fa.schedule<tile_q = 128, tile_kv = 128, target = #fa.hopper<stages = 2, warpgroups = 2, overlap = true, "
              "ping_pong = true, persistent = true>>")
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


def source(depth, causal, dtype):
    masks = " masks [#fa.causal<bottom_right>]" if causal else ""
    return f"""!t = memref<?x?x?x{depth}x{dtype}>
func.func @attention(%q: !t {{fa.name = "q"}}, %k: !t {{fa.name = "k"}}, %v: !t {{fa.name = "v"}}, %o: !t {{fa.name = "o"}},
                     %lse: memref<?x?x?xf32> {{fa.name = "lse"}}) {{
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, memref<?x?x?xf32>) scale({depth ** -0.5}){masks}
  return
}}
"""


def check(fa_compile, folder, depth, causal, dtype, persistent):
    (folder / "kernel.mlir").write_text(source(depth, causal, dtype))
    command = [fa_compile, str(folder / "kernel.mlir"), "--emit=package", "-o", str(folder / "kernel.fa")]
    if persistent:
        command.append(f"--schedule={PERSISTENT}")
    done = subprocess.run(command, capture_output=True, text=True)
    complaints = [done.stderr.strip()] if done.returncode or done.stderr.strip() else []
    ptx = next((folder / "kernel.fa").glob("*.ptx")).read_text()
    opcodes = instructions(next((folder / "kernel.fa").glob("*.cubin")).read_bytes())
    count, limit = len(opcodes), int(TOLERANCE * REFERENCE[depth, causal, persistent])
    products, waits = ptx.count("wgmma.commit_group"), collections.Counter(opcodes)[WARPGROUP]
    tiles, wanted = exponentials(opcodes), KEY_TILE[depth] // 2 + 2
    if count > limit:
        complaints.append(f"expected at most {limit} instructions")
    if waits != 2 * products:
        complaints.append(f"expected an arrival and a wait for each of {products} products, but got {waits} of both")
    if not tiles or any(tile != [wanted, 0] for tile in tiles):
        complaints.append(f"expected {wanted} exponentials under each product and none after it")
    overlapped = ", ".join(f"{under} of {under + after}" for under, after in tiles)
    name = f"{dtype} depth {depth} {'causal' if causal else 'full'}{' persistent' if persistent else ''}"
    print(f"{name}: {count} instructions (limit {limit}), {products} products, {waits} arrivals and waits, "
          f"exponentials overlapped: {overlapped}" + "".join(f"\n  FAIL: {c}" for c in complaints))
    return not complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fa_compile")
    arguments = parser.parse_args()
    good = total = 0
    for (depth, causal, persistent), dtype in itertools.product(REFERENCE, ("bf16", "f16")):
        with tempfile.TemporaryDirectory() as folder:
            good += check(arguments.fa_compile, pathlib.Path(folder), depth, causal, dtype, persistent)
        total += 1
    print(f"{good} of {total} kernels within their limits")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())
