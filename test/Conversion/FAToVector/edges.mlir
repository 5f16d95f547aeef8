// RUN: fa-opt %s --convert-fa-to-vector="vector-bits=512 avx512" --canonicalize --cse | FileCheck %s

// Masks of a few operations over static lengths are compared on lanes as wide as the scores, in a function for the keys that
// only some queries of a sub-tile see.
// CHECK-LABEL: func.func private @window_step_edges
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: arith.cmpi s{{[lg]}}e, {{.*}} : vector<16xi32>
// CHECK-NOT: vector<16xindex>
// Whole blocks have no mask. Their products ask for two of eight rows of the next tile, of keys and of values.
// CHECK-LABEL: func.func private @window_step(
// CHECK-NOT: vector<16xindex>
// CHECK-NOT: arith.cmpi s{{[lg][te]}}, {{.*}} : vector
// CHECK-COUNT-4: memref.prefetch {{.*}}, read, locality<2>, data : memref<64xf32
// CHECK-NOT: vector<16xindex>
// CHECK-NOT: arith.cmpi s{{[lg][te]}}, {{.*}} : vector
// CHECK: call @window_step_edges
// CHECK-NOT: vector<16xindex>
// CHECK-LABEL: func.func @window(
func.func @window(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                  %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %c7 = arith.constant 7 : index
      %first = arith.subi %i, %c7 : index
      %after = arith.cmpi sge, %j, %first : index
      %before = arith.cmpi sle, %j, %i : index
      %keep = arith.andi %after, %before : i1
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// Eight lanes of 64 bits for f64.
// CHECK-LABEL: func.func private @doubles_step_edges
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: arith.cmpi s{{[lg]}}e, {{.*}} : vector<8xi64>
// CHECK-NOT: vector<8xindex>
// CHECK-LABEL: func.func private @doubles_step(
// CHECK-NOT: vector<8xindex>
// CHECK-NOT: arith.cmpi s{{[lg][te]}}, {{.*}} : vector
// CHECK: call @doubles_step_edges
// CHECK-NOT: vector<8xindex>
// CHECK-LABEL: func.func @doubles(
func.func @doubles(%block: index, %q: memref<1x1x300x64xf64>, %k: memref<1x1x300x64xf64>, %v: memref<1x1x300x64xf64>,
                   %o: memref<1x1x300x64xf64>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf64>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf64>, memref<1x1x300x64xf64>, memref<1x1x300x64xf64>, memref<1x1x300x64xf64>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf64>, memref<1x1x300x64xf64>
  return
}

// Eight operations are a few, nine are not: the masked blocks go through memory, row by row.
// CHECK-LABEL: func.func private @eight_step_edges
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: arith.cmpi s{{[lg]}}e, {{.*}} : vector<16xi32>
// CHECK-NOT: vector<16xindex>
// CHECK-LABEL: func.func private @eight_step(
// CHECK-NOT: vector<16xindex>
// CHECK-NOT: arith.cmpi s{{[lg][te]}}, {{.*}} : vector
// CHECK: call @eight_step_edges
// CHECK-NOT: vector<16xindex>
// CHECK-LABEL: func.func @eight(
func.func @eight(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                 %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %x0 = arith.addi %i, %c1 : index
      %x1 = arith.addi %x0, %c1 : index
      %x2 = arith.addi %x1, %c1 : index
      %x3 = arith.addi %x2, %c1 : index
      %x4 = arith.addi %x3, %c1 : index
      %x5 = arith.addi %x4, %c1 : index
      %x6 = arith.addi %x5, %c1 : index
      %keep = arith.cmpi sle, %j, %x6 : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// CHECK-NOT: @nine_step_edges
// CHECK-LABEL: func.func private @nine_step(
// CHECK-NOT: @nine_step_edges
// CHECK: arith.minsi %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @nine_step_edges
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @nine_step_edges
// CHECK-LABEL: func.func @nine(
func.func @nine(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %x0 = arith.addi %i, %c1 : index
      %x1 = arith.addi %x0, %c1 : index
      %x2 = arith.addi %x1, %c1 : index
      %x3 = arith.addi %x2, %c1 : index
      %x4 = arith.addi %x3, %c1 : index
      %x5 = arith.addi %x4, %c1 : index
      %x6 = arith.addi %x5, %c1 : index
      %x7 = arith.addi %x6, %c1 : index
      %keep = arith.cmpi sle, %j, %x7 : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// So do masks that read memory,
// CHECK-NOT: @documents_step_edges
// CHECK-LABEL: func.func private @documents_step(
// CHECK-NOT: @documents_step_edges
// CHECK: arith.minsi %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @documents_step_edges
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.cmpi eq, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK-NOT: @documents_step_edges
// CHECK-LABEL: func.func @documents(
func.func @documents(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                     %o: memref<1x1x300x64xf32>, %id: memref<300xi32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %mine = memref.load %id[%i] : memref<300xi32>
      %theirs = memref.load %id[%j] : memref<300xi32>
      %keep = arith.cmpi eq, %mine, %theirs : i32
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// masks over lengths that are not static, of queries or of keys,
// CHECK-NOT: @dynamic_keys_step_edges
// CHECK-LABEL: func.func private @dynamic_keys_step(
// CHECK-NOT: @dynamic_keys_step_edges
// CHECK: arith.minsi %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @dynamic_keys_step_edges
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @dynamic_keys_step_edges
// CHECK-LABEL: func.func @dynamic_keys(
func.func @dynamic_keys(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x?x64xf32>, %v: memref<1x1x?x64xf32>,
                        %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// CHECK-NOT: @dynamic_queries_step_edges
// CHECK-LABEL: func.func private @dynamic_queries_step(
// CHECK-NOT: @dynamic_queries_step_edges
// CHECK: arith.minsi %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @dynamic_queries_step_edges
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @dynamic_queries_step_edges
// CHECK-LABEL: func.func @dynamic_queries(
func.func @dynamic_queries(%block: index, %q: memref<1x1x?x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                           %o: memref<1x1x?x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x?x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x?x64xf32>
  return
}

// and masks whose numbers on the way may exceed 32 bits, for f64 too: 2^28 times a position of 300 does, 2^18 times does not.
// CHECK-LABEL: func.func private @fits_step_edges
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: arith.cmpi s{{[lg]}}e, {{.*}} : vector<16xi32>
// CHECK-NOT: vector<16xindex>
// CHECK-LABEL: func.func private @fits_step(
// CHECK-NOT: vector<16xindex>
// CHECK-NOT: arith.cmpi s{{[lg][te]}}, {{.*}} : vector
// CHECK: call @fits_step_edges
// CHECK-NOT: vector<16xindex>
// CHECK-LABEL: func.func @fits(
func.func @fits(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %factor = arith.constant 262144 : index
      %a = arith.muli %i, %factor : index
      %b1 = arith.muli %j, %factor : index
      %keep = arith.cmpi sle, %b1, %a : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// CHECK-NOT: @exceeds_step_edges
// CHECK-LABEL: func.func private @exceeds_step(
// CHECK-NOT: @exceeds_step_edges
// CHECK: arith.minsi %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @exceeds_step_edges
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.muli %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK-NOT: @exceeds_step_edges
// CHECK-LABEL: func.func @exceeds(
func.func @exceeds(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                   %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %factor = arith.constant 268435456 : index
      %a = arith.muli %i, %factor : index
      %b1 = arith.muli %j, %factor : index
      %keep = arith.cmpi sle, %b1, %a : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// CHECK-NOT: @exceeds_doubles_step_edges
// CHECK-LABEL: func.func private @exceeds_doubles_step(
// CHECK-NOT: @exceeds_doubles_step_edges
// CHECK: arith.minsi %{{.*}}, %{{.*}} : vector<8xindex>
// CHECK-NOT: @exceeds_doubles_step_edges
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.muli %{{.*}}, %{{.*}} : vector<8xindex>
// CHECK-NOT: @exceeds_doubles_step_edges
// CHECK-LABEL: func.func @exceeds_doubles(
func.func @exceeds_doubles(%block: index, %q: memref<1x1x300x64xf64>, %k: memref<1x1x300x64xf64>, %v: memref<1x1x300x64xf64>,
                           %o: memref<1x1x300x64xf64>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf64>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    mask (%b: index, %h: index, %i: index, %j: index) {
      %factor = arith.constant 268435456 : index
      %a = arith.muli %i, %factor : index
      %b1 = arith.muli %j, %factor : index
      %keep = arith.cmpi sle, %b1, %a : index
      fa.yield %keep : i1
    } : !fa.state<128x64xf64>, memref<1x1x300x64xf64>, memref<1x1x300x64xf64>, memref<1x1x300x64xf64>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf64>, memref<1x1x300x64xf64>
  return
}

// Without a mask, keys past the last whole block of eight are hidden there; multiples of eight leave none.
// CHECK-LABEL: func.func private @rest_step_edges
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-LABEL: func.func private @rest_step(
// CHECK: call @rest_step_edges
func.func @rest(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x300x64xf32>, %v: memref<1x1x300x64xf32>,
                %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>, memref<1x1x300x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// CHECK-NOT: step_edges
// CHECK-LABEL: func.func private @whole_step(
// CHECK-NOT: step_edges
// CHECK-LABEL: func.func @whole(
func.func @whole(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x304x64xf32>, %v: memref<1x1x304x64xf32>,
                 %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125) full
    : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x304x64xf32>, memref<1x1x304x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}

// CHECK-LABEL: func.func private @unknown_step_edges
// CHECK-LABEL: func.func private @unknown_step(
// CHECK: call @unknown_step_edges
func.func @unknown(%block: index, %q: memref<1x1x300x64xf32>, %k: memref<1x1x?x64xf32>, %v: memref<1x1x?x64xf32>,
                   %o: memref<1x1x300x64xf32>) attributes {fa.kernel} {
  %c0 = arith.constant 0 : index
  %s0 = fa.init : !fa.state<128x64xf32>
  %s1 = fa.step %s0, %q[%c0, %c0, %block], %k, %v[%c0, %c0, %c0] tile_kv(128) scale(0.125)
    : !fa.state<128x64xf32>, memref<1x1x300x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>
  fa.finish %s1, %o[%c0, %c0, %block] : !fa.state<128x64xf32>, memref<1x1x300x64xf32>
  return
}
