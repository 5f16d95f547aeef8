// fa.combine on numbers worked out by hand, and on the splits of an attention whose middle split sees no key.
//
// DEFINE: %{lower} = mlir-opt --canonicalize --cse --convert-scf-to-cf --expand-strided-metadata --lower-affine \
// DEFINE:   --convert-math-to-llvm --finalize-memref-to-llvm --convert-arith-to-llvm --convert-index-to-llvm \
// DEFINE:   --convert-cf-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts
// RUN: fa-opt %s --fa-kernels-pipeline="tile-q=2 tile-kv=2" --convert-fa-to-loops | %{lower} \
// RUN:   | mlir-runner -e main -entry-point-result=void -O2 \
// RUN:     -shared-libs=%llvm_tools/../lib/libmlir_runner_utils.so,%llvm_tools/../lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @printF32(f32)
func.func private @printNewline()
func.func private @printComma()

// Rows: {ln 2, 0} + {ln 8, 1}: 0.8, ln 10. Empty + {1, 3}: 3, 1, though the empty split holds NaN. Two empties: 0, -inf.
memref.global "private" constant @outputs : memref<2x1x1x3x1xf32> = dense<[[[[[0.0], [0x7FC00000], [0x7FC00000]]]], [[[[1.0], [3.0], [0x7FC00000]]]]]>
memref.global "private" constant @lses : memref<2x1x1x3xf32> =
  dense<[[[[0.69314718, 0xFF800000, 0xFF800000]]], [[[2.07944154, 1.0, 0xFF800000]]]]>

// Four keys with V = 1, 1, 3, 3 in three splits: keys 0-1, none, keys 2-3.
memref.global "private" constant @values : memref<1x1x4x1xf32> = dense<[[[[1.0], [1.0], [3.0], [3.0]]]]>

func.func @attend(%q: memref<1x1x1x1xf32>, %k: memref<1x1x?x1xf32, strided<[4, 4, 1, 1], offset: ?>>,
                  %o: memref<1x1x1x1xf32, strided<[1, 1, 1, 1], offset: ?>>, %lse: memref<1x1x1xf32, strided<[1, 1, 1], offset: ?>>) {
  fa.attention ins(%q, %k, %k : memref<1x1x1x1xf32>, memref<1x1x?x1xf32, strided<[4, 4, 1, 1], offset: ?>>,
                                memref<1x1x?x1xf32, strided<[4, 4, 1, 1], offset: ?>>)
               outs(%o, %lse : memref<1x1x1x1xf32, strided<[1, 1, 1, 1], offset: ?>>, memref<1x1x1xf32, strided<[1, 1, 1], offset: ?>>)
  return
}

func.func @main() {
  %c1 = arith.constant 1 : index
  // CHECK: data =
  // CHECK-NEXT: 0.8],
  // CHECK-NEXT: [3],
  // CHECK-NEXT: [0]
  // CHECK: data =
  // CHECK-NEXT: 2.30259, 1, -inf
  %outputs = memref.get_global @outputs : memref<2x1x1x3x1xf32>
  %lses = memref.get_global @lses : memref<2x1x1x3xf32>
  %o = memref.alloc() : memref<1x1x3x1xf32>
  %lse = memref.alloc() : memref<1x1x3xf32>
  fa.combine ins(%outputs, %lses : memref<2x1x1x3x1xf32>, memref<2x1x1x3xf32>)
             outs(%o, %lse : memref<1x1x3x1xf32>, memref<1x1x3xf32>)
  %uo = memref.cast %o : memref<1x1x3x1xf32> to memref<*xf32>
  call @printMemrefF32(%uo) : (memref<*xf32>) -> ()
  %ulse = memref.cast %lse : memref<1x1x3xf32> to memref<*xf32>
  call @printMemrefF32(%ulse) : (memref<*xf32>) -> ()

  // CHECK: data =
  // CHECK-NEXT: 2]
  // CHECK: data =
  // CHECK-NEXT: 1.38629]
  call @splits() : () -> ()

  // Four keys in 1 to 8 splits of ceil(4 / splits) keys: whatever their number, and with empty splits at the end.
  // CHECK-COUNT-8: {{^}}2, 1.38629
  %c9 = arith.constant 9 : index
  scf.for %n = %c1 to %c9 step %c1 {
    func.call @splitsOf(%n) : (index) -> ()
  }
  return
}

func.func @splits() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %q = memref.alloc() : memref<1x1x1x1xf32>
  memref.store %zero, %q[%c0, %c0, %c0, %c0] : memref<1x1x1x1xf32>
  %v = memref.get_global @values : memref<1x1x4x1xf32>
  %po = memref.alloc() : memref<3x1x1x1x1xf32>
  %plse = memref.alloc() : memref<3x1x1x1xf32>
  scf.for %p = %c0 to %c3 step %c1 {
    // Splits 0, 1, 2 begin at keys 0, 2, 2 and have 2, 0, 2 keys.
    %isMiddle = arith.cmpi eq, %p, %c1 : index
    %size = arith.select %isMiddle, %c0, %c2 : index
    %isFirst = arith.cmpi eq, %p, %c0 : index
    %first = arith.select %isFirst, %c0, %c2 : index
    %k = memref.subview %v[0, 0, %first, 0] [1, 1, %size, 1] [1, 1, 1, 1]
      : memref<1x1x4x1xf32> to memref<1x1x?x1xf32, strided<[4, 4, 1, 1], offset: ?>>
    %o = memref.subview %po[%p, 0, 0, 0, 0] [1, 1, 1, 1, 1] [1, 1, 1, 1, 1]
      : memref<3x1x1x1x1xf32> to memref<1x1x1x1xf32, strided<[1, 1, 1, 1], offset: ?>>
    %lse = memref.subview %plse[%p, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1]
      : memref<3x1x1x1xf32> to memref<1x1x1xf32, strided<[1, 1, 1], offset: ?>>
    func.call @attend(%q, %k, %o, %lse)
      : (memref<1x1x1x1xf32>, memref<1x1x?x1xf32, strided<[4, 4, 1, 1], offset: ?>>,
         memref<1x1x1x1xf32, strided<[1, 1, 1, 1], offset: ?>>, memref<1x1x1xf32, strided<[1, 1, 1], offset: ?>>) -> ()
  }
  %o = memref.alloc() : memref<1x1x1x1xf32>
  %lse = memref.alloc() : memref<1x1x1xf32>
  fa.combine ins(%po, %plse : memref<3x1x1x1x1xf32>, memref<3x1x1x1xf32>)
             outs(%o, %lse : memref<1x1x1x1xf32>, memref<1x1x1xf32>)
  %uo = memref.cast %o : memref<1x1x1x1xf32> to memref<*xf32>
  call @printMemrefF32(%uo) : (memref<*xf32>) -> ()
  %ulse = memref.cast %lse : memref<1x1x1xf32> to memref<*xf32>
  call @printMemrefF32(%ulse) : (memref<*xf32>) -> ()
  return
}

func.func @splitsOf(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %q = memref.alloc() : memref<1x1x1x1xf32>
  memref.store %zero, %q[%c0, %c0, %c0, %c0] : memref<1x1x1x1xf32>
  %v = memref.get_global @values : memref<1x1x4x1xf32>
  %po = memref.alloc(%n) : memref<?x1x1x1x1xf32>
  %plse = memref.alloc(%n) : memref<?x1x1x1xf32>
  %size = arith.ceildivsi %c4, %n : index
  scf.for %p = %c0 to %n step %c1 {
    %wanted = arith.muli %p, %size : index
    %first = arith.minsi %wanted, %c4 : index
    %rest = arith.subi %c4, %first : index
    %count = arith.minsi %rest, %size : index
    %k = memref.subview %v[0, 0, %first, 0] [1, 1, %count, 1] [1, 1, 1, 1]
      : memref<1x1x4x1xf32> to memref<1x1x?x1xf32, strided<[4, 4, 1, 1], offset: ?>>
    %o = memref.subview %po[%p, 0, 0, 0, 0] [1, 1, 1, 1, 1] [1, 1, 1, 1, 1]
      : memref<?x1x1x1x1xf32> to memref<1x1x1x1xf32, strided<[1, 1, 1, 1], offset: ?>>
    %lse = memref.subview %plse[%p, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1]
      : memref<?x1x1x1xf32> to memref<1x1x1xf32, strided<[1, 1, 1], offset: ?>>
    func.call @attend(%q, %k, %o, %lse)
      : (memref<1x1x1x1xf32>, memref<1x1x?x1xf32, strided<[4, 4, 1, 1], offset: ?>>,
         memref<1x1x1x1xf32, strided<[1, 1, 1, 1], offset: ?>>, memref<1x1x1xf32, strided<[1, 1, 1], offset: ?>>) -> ()
  }
  %o = memref.alloc() : memref<1x1x1x1xf32>
  %lse = memref.alloc() : memref<1x1x1xf32>
  fa.combine ins(%po, %plse : memref<?x1x1x1x1xf32>, memref<?x1x1x1xf32>)
             outs(%o, %lse : memref<1x1x1x1xf32>, memref<1x1x1xf32>)
  %x = memref.load %o[%c0, %c0, %c0, %c0] : memref<1x1x1x1xf32>
  %y = memref.load %lse[%c0, %c0, %c0] : memref<1x1x1xf32>
  func.call @printF32(%x) : (f32) -> ()
  func.call @printComma() : () -> ()
  func.call @printF32(%y) : (f32) -> ()
  func.call @printNewline() : () -> ()
  return
}
