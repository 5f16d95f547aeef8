// RUN: fa-opt %s --convert-fa-to-vector="vector-bits=512 avx512" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,WIDE -enable-var-scope
// RUN: fa-opt %s --convert-fa-to-vector="vector-bits=128" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,NARROW -enable-var-scope
// How a query tile begins and ends. Vectors are joined from pieces of 128 bits, so that only shuffles inside 128 bits
// are left; requests for the next rows go beside them.

// Static whole tiles: no row is clamped, none is tested.
// CHECK-LABEL: func.func private @whole_pack
// CHECK-NOT: arith.minsi
// CHECK: memref.prefetch {{.*}}, read, locality<3>, data : memref<1x1x256x64xf32>
// WIDE-COUNT-4: vector.load {{.*}} : memref<1x1x256x64xf32>, vector<4xf32>
// WIDE: llvm.intr.vector.insert {{.*}}[0] : vector<4xf32> into vector<16xf32>
// WIDE: llvm.intr.vector.insert {{.*}}[4] : vector<4xf32> into vector<16xf32>
// WIDE: llvm.intr.vector.insert {{.*}}[8] : vector<4xf32> into vector<16xf32>
// WIDE: llvm.intr.vector.insert {{.*}}[12] : vector<4xf32> into vector<16xf32>
// WIDE: vector.shuffle {{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29] : vector<16xf32>, vector<16xf32>
// WIDE: vector.shuffle {{.*}} [0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29] : vector<16xf32>, vector<16xf32>
// NARROW-NOT: llvm.intr.vector.insert
// NARROW-COUNT-4: vector.load {{.*}} : memref<1x1x256x64xf32>, vector<4xf32>
// NARROW: vector.shuffle {{.*}} [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
// NARROW: vector.shuffle {{.*}} [0, 1, 4, 5] : vector<4xf32>, vector<4xf32>
// CHECK: %[[PACKED:.*]] = arith.mulf
// CHECK: vector.store %[[PACKED]]
// CHECK: return

// A sub-tile is packed in the first step that visits it. Its accumulators begin with zeros there, and the queries of the
// next one are asked for.
// CHECK-LABEL: func.func private @whole_step
// CHECK: %[[FLAG:.*]] = memref.load %[[FLAGS:.*]][%[[SUBTILE:.*]]] : memref<{{[0-9]+}}xf32>
// CHECK: %[[STARTED:.*]] = arith.cmpf une, %[[FLAG]]
// CHECK: %[[FIRST:.*]] = arith.xori %[[STARTED]]
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: call @whole_pack({{.*}}, %[[SUBTILE]])
// CHECK-NEXT: memref.store {{.*}}, %[[FLAGS]][%[[SUBTILE]]]
// CHECK-NEXT: }
// CHECK: scf.if %[[STARTED]] ->
// CHECK: vector.load
// CHECK: } else {
// CHECK: memref.prefetch {{.*}}, read, locality<3>, data : memref<1x1x256x64xf32>
// CHECK: scf.yield %[[ZEROS:[a-z0-9_]+]], %[[ZEROS]],
// CHECK: return

// What no step visited is cleared in the end.
// CHECK-LABEL: func.func @whole(
// CHECK: %[[ZEROS:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<
// CHECK: call @whole_step
// CHECK: scf.if
// CHECK: vector.store %[[ZEROS]], %[[OUTPUT:[a-z0-9_]+]][
// CHECK: memref.prefetch {{.*}}, write, locality<3>, data : memref<1x1x256x64xf32>
// CHECK: vector.load %[[OUTPUT]][{{.*}}, vector<4xf32>
// CHECK: vector.shuffle
// CHECK-NOT: scf.if
// CHECK: vector.store {{.*}} : memref<1x1x256x64xf32>
// CHECK: return
func.func @whole(%block: index, %q: memref<1x1x256x64xf32>, %k: memref<1x1x256x64xf32>, %v: memref<1x1x256x64xf32>,
                 %o: memref<1x1x256x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125) full
    : !fa.state<128x64xf32>, memref<1x1x256x64xf32>, memref<1x1x256x64xf32>, memref<1x1x256x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x256x64xf32>
  return
}

// Otherwise lanes past the last query repeat it, and only rows that exist are stored. 16-bit pieces are joined as words
// of 64 bits and widened together.
// CHECK-LABEL: func.func private @tail_pack
// CHECK: arith.minsi
// WIDE: vector.bitcast {{.*}} : vector<4xbf16> to vector<1xi64>
// WIDE: vector.from_elements {{.*}} : vector<4xi64>
// WIDE: vector.bitcast {{.*}} : vector<4xi64> to vector<16xbf16>
// CHECK: arith.extf
// CHECK-LABEL: func.func @tail(
// CHECK: call @tail_step
// CHECK: %[[EXISTS:.*]] = arith.cmpi {{slt|sgt}}
// CHECK: scf.if %[[EXISTS]] {
// CHECK-NEXT: arith.truncf
// CHECK: vector.store {{.*}} : memref<1x1x300x64xbf16>
// CHECK: return
func.func @tail(%block: index, %q: memref<1x1x300x64xbf16>, %k: memref<1x1x300x64xbf16>, %v: memref<1x1x300x64xbf16>,
                %o: memref<1x1x300x64xbf16>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    : !fa.state<128x64xf32>, memref<1x1x300x64xbf16>, memref<1x1x300x64xbf16>, memref<1x1x300x64xbf16>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xbf16>
  return
}

// So is a state without steps.
// CHECK-LABEL: func.func @empty
// CHECK: %[[ZEROS:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<
// CHECK: scf.for
// CHECK: vector.store %[[ZEROS]]
// CHECK: vector.shuffle
// CHECK: return
func.func @empty(%block: index, %o: memref<1x1x256x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  fa.finish %s0, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x256x64xf32>
  return
}
