// Heads that are no multiple of kv heads would read a neighbour's head: refused by the op and by the flags.
// RUN: fa-opt %s -verify-diagnostics
// RUN: not fa-run --heads=3 --kv-heads=2 2>&1 | FileCheck %s
// CHECK: fa-run: expected --heads to be a multiple of --kv-heads, but got 3 and 2
func.func @f(%q: memref<1x3x4x8xf32>, %k: memref<1x2x4x8xf32>, %o: memref<1x3x4x8xf32>) {
  // expected-error@+1 {{(C6) expected heads of query to be a multiple of heads of key, but got 3 and 2}}
  fa.attention ins(%q, %k, %k : memref<1x3x4x8xf32>, memref<1x2x4x8xf32>, memref<1x2x4x8xf32>)
               outs(%o : memref<1x3x4x8xf32>)
  return
}
