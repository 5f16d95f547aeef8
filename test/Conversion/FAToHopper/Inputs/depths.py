"""depths.py STEP: one attention for every pair of depths 8, 8 + STEP, .. 256, as MLIR on standard output."""
import sys

for depth in range(8, 257, int(sys.argv[1])):
    for depth_v in range(8, 257, int(sys.argv[1])):
        key, value = f"memref<?x?x?x{depth}xbf16>", f"memref<?x?x?x{depth_v}xbf16>"
        print(f"func.func @depth_{depth}_{depth_v}(%q: {key}, %k: {key}, %v: {value}, %o: {value}) {{\n"
              f"  fa.attention ins(%q, %k, %v : {key}, {key}, {value}) outs(%o : {value}) scale(0.1)\n  return\n}}")
