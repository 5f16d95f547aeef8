// The result of convert-fa-to-loops runs under the stock tools of the Debian package, which know nothing of this project.
// With Q = 0 all visible logits are equal, so O is the mean of the visible values: V[j] = 2^j shows exactly which keys a row saw.
//
// DEFINE: %{lower} = mlir-opt --canonicalize --cse --convert-scf-to-cf --expand-strided-metadata --lower-affine \
// DEFINE:   --convert-math-to-llvm --finalize-memref-to-llvm --convert-arith-to-llvm --convert-index-to-llvm \
// DEFINE:   --convert-cf-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts
// DEFINE: %{execute} = mlir-runner -e main -entry-point-result=void -O2 \
// DEFINE:   -shared-libs=%llvm_tools/../lib/libmlir_runner_utils.so,%llvm_tools/../lib/libmlir_c_runner_utils.so
//
// RUN: fa-opt %s --fa-kernels-pipeline="tile-q=4 tile-kv=4" --convert-fa-to-loops | %{lower} | %{execute} | FileCheck %s
// RUN: fa-opt %s --fa-kernels-pipeline="tile-q=4 tile-kv=4 order=key_outer" --convert-fa-to-loops | %{lower} | %{execute} \
// RUN:   | FileCheck %s
// RUN: fa-opt %s --fa-lower-naive | %{lower} | %{execute} | FileCheck %s

!qk = memref<1x1x?x3xf32>
!vo = memref<1x1x?x1xf32>
!stat = memref<1x1x?xf32>

memref.global "private" constant @powers : memref<1x1x6x1xf32> = dense<[[[[1.], [2.], [4.], [8.], [16.], [32.]]]]>
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @window(%q: !qk, %k: !qk, %v: !vo, %o: !vo, %lse: !stat) {
  fa.attention ins(%q, %k, %v : !qk, !qk, !vo) outs(%o, %lse : !vo, !stat)
               masks [#fa.window<left = 2, right = 0, top_left>]
  return
}

// Five queries, two keys, bottom-right: the first three rows see no key.
func.func @bottom_right(%q: !qk, %k: !qk, %v: !vo, %o: !vo, %lse: !stat) {
  fa.attention ins(%q, %k, %v : !qk, !qk, !vo) outs(%o, %lse : !vo, !stat) masks [#fa.causal<bottom_right>]
  return
}

// Query i sees key j when i + j is even and j <= i: the AND of a named mask and a region.
func.func @both(%q: !qk, %k: !qk, %v: !vo, %o: !vo, %lse: !stat) {
  fa.attention ins(%q, %k, %v : !qk, !qk, !vo) outs(%o, %lse : !vo, !stat) masks [#fa.causal<top_left>]
    mask (%b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %sum = arith.addi %i, %j : index
      %bit = arith.andi %sum, %c1 : index
      %even = arith.cmpi eq, %bit, %c0 : index
      fa.yield %even : i1
    }
  return
}

func.func @zeros(%n: index) -> !qk {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %q = memref.alloc(%n) : !qk
  scf.for %i = %c0 to %n step %c1 {
    scf.for %d = %c0 to %c3 step %c1 {
      memref.store %zero, %q[%c0, %c0, %i, %d] : !qk
    }
  }
  return %q : !qk
}

func.func @print(%o: !vo, %lse: !stat) {
  %uo = memref.cast %o : !vo to memref<*xf32>
  call @printMemrefF32(%uo) : (memref<*xf32>) -> ()
  %ulse = memref.cast %lse : !stat to memref<*xf32>
  call @printMemrefF32(%ulse) : (memref<*xf32>) -> ()
  return
}

func.func @main() {
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %q6 = call @zeros(%c6) : (index) -> !qk
  %q5 = call @zeros(%c5) : (index) -> !qk
  %k2 = call @zeros(%c2) : (index) -> !qk
  %powers = memref.get_global @powers : memref<1x1x6x1xf32>
  %v6 = memref.cast %powers : memref<1x1x6x1xf32> to !vo
  %v2s = memref.subview %powers[0, 0, 0, 0] [1, 1, 2, 1] [1, 1, 1, 1]
    : memref<1x1x6x1xf32> to memref<1x1x2x1xf32, strided<[6, 6, 1, 1]>>
  %v2 = memref.alloc(%c2) : !vo
  memref.copy %v2s, %v2 : memref<1x1x2x1xf32, strided<[6, 6, 1, 1]>> to !vo
  %o6 = memref.alloc(%c6) : !vo
  %lse6 = memref.alloc(%c6) : !stat
  %o5 = memref.alloc(%c5) : !vo
  %lse5 = memref.alloc(%c5) : !stat

  // 1, 3/2, 7/3, 14/3, 28/3, 56/3; ln 1, ln 2, ln 3.
  // CHECK: data =
  // CHECK-NEXT: 1],
  // CHECK-NEXT: [1.5],
  // CHECK-NEXT: [2.33333],
  // CHECK-NEXT: [4.66667],
  // CHECK-NEXT: [9.33333],
  // CHECK-NEXT: [18.6667]
  // CHECK: data =
  // CHECK-NEXT: 0, 0.693147, 1.09861, 1.09861, 1.09861, 1.09861
  call @window(%q6, %q6, %v6, %o6, %lse6) : (!qk, !qk, !vo, !vo, !stat) -> ()
  call @print(%o6, %lse6) : (!vo, !stat) -> ()

  // Rows without keys: 0 and -inf. Row 3 sees key 0, row 4 both.
  // CHECK: data =
  // CHECK-NEXT: 0],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [1],
  // CHECK-NEXT: [1.5]
  // CHECK: data =
  // CHECK-NEXT: -inf, -inf, -inf, 0, 0.693147
  call @bottom_right(%q5, %k2, %v2, %o5, %lse5) : (!qk, !qk, !vo, !vo, !stat) -> ()
  call @print(%o5, %lse5) : (!vo, !stat) -> ()

  // Keys {0}, {1}, {0, 2}, {1, 3}, {0, 2, 4}, {1, 3, 5}.
  // CHECK: data =
  // CHECK-NEXT: 1],
  // CHECK-NEXT: [2],
  // CHECK-NEXT: [2.5],
  // CHECK-NEXT: [5],
  // CHECK-NEXT: [7],
  // CHECK-NEXT: [14]
  // CHECK: data =
  // CHECK-NEXT: 0, 0, 0.693147, 0.693147, 1.09861, 1.09861
  call @both(%q6, %q6, %v6, %o6, %lse6) : (!qk, !qk, !vo, !vo, !stat) -> ()
  call @print(%o6, %lse6) : (!vo, !stat) -> ()
  return
}
