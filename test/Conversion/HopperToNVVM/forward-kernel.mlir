// A complete forward kernel by hand: bf16, depth 128, causal (bottom right), two consumer warpgroups, two stages, softmax
// of one tile under the product of the next, ping-pong.
// RUN: fa-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-ping-pong,hopper-assign-stages,hopper-allocate-shared),convert-hopper-to-nvvm))' | FileCheck %s

!q = !hopper.tile<128x128xbf16>
!kv = !hopper.tile<128x128xbf16>
!qring = !hopper.ring<1 x [128x128xbf16]>
!ring = !hopper.ring<2 x [128x128xbf16]>
!map = !hopper.tensor_map<128x64xbf16>
!omap = !hopper.tensor_map<64x64xbf16>
!f = vector<64xf32>
!rows = vector<2xf32>
!p = vector<32xi32>

// CHECK: llvm.mlir.global external @hopper_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.func @forward(%{{[^:]*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
gpu.module @kernels {
  gpu.func @forward(%qmap: !map, %kmap: !map, %vmap: !map, %omap: !omap,
                    %lse: memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>, %heads: index, %sq: index, %sk: index,
                    %c: f32) kernel attributes {hopper.ping_pong, known_block_size = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c127 = arith.constant 127 : index
    %block = gpu.block_id x
    %qtiles0 = arith.addi %sq, %c127 : index
    %qtiles = arith.divui %qtiles0, %c128 : index
    %t0 = arith.remui %block, %qtiles : index
    %bh = arith.divui %block, %qtiles : index
    %h = arith.remui %bh, %heads : index
    %b = arith.divui %bh, %heads : index
    %last = arith.subi %qtiles, %c1 : index
    %t = arith.subi %last, %t0 : index
    %q0 = arith.muli %t, %c128 : index
    %offset = arith.subi %sk, %sq : index
    // Tiles to visit: all that hold a key <= q0 + 127 + offset.
    %e0 = arith.addi %q0, %offset : index
    %e1 = arith.addi %e0, %c128 : index
    %e2 = arith.minsi %e1, %sk : index
    %e3 = arith.addi %e2, %c127 : index
    %n = arith.divsi %e3, %c128 : index
    // The first `full` tiles are visible as a whole.
    %f0 = arith.addi %e0, %c1 : index
    %f1 = arith.divsi %f0, %c128 : index
    %full = arith.maxsi %f1, %c0 : index
    %nlast = arith.subi %n, %c1 : index
    %edge0 = arith.subi %n, %full : index
    %edge1 = arith.maxsi %edge0, %c1 : index
    %edge = arith.minsi %edge1, %n : index
    %qr = hopper.ring readers(2) : !qring
    %kr = hopper.ring readers(2) : !ring
    %vr = hopper.ring readers(2) : !ring
    hopper.warp_specialize producer registers(24) {
      %q, %qfull = hopper.acquire %qr[%c0] : !qring -> !q
      hopper.tma_load %qmap[%b, %h, %q0] to %q signals %qfull : !map to !q
      scf.for %i = %c0 to %n step %c1 {
        %j = arith.subi %nlast, %i : index
        %row = arith.muli %j, %c128 : index
        %k, %kfull = hopper.acquire %kr[%i] : !ring -> !kv
        hopper.tma_load %kmap[%b, %h, %row] to %k signals %kfull : !map to !kv
        %v, %vfull = hopper.acquire %vr[%i] : !ring -> !kv
        hopper.tma_load %vmap[%b, %h, %row] to %v signals %vfull : !map to !kv
      }
    } consumers(%w) of 2 registers(240) {
      %c64 = arith.constant 64 : index
      %tileRow = arith.muli %w, %c64 : index
      %row0 = arith.addi %q0, %tileRow : index
      %rowsInTile = hopper.fragment_rows : vector<2xindex>
      %row0v = vector.broadcast %row0 : index to vector<2xindex>
      %rows = arith.addi %rowsInTile, %row0v : vector<2xindex>
      %offv = vector.broadcast %offset : index to vector<2xindex>
      %limit = arith.addi %rows, %offv : vector<2xindex>
      %limits = hopper.row_broadcast %limit : vector<2xindex> to vector<64xindex>
      %columns = hopper.fragment_columns : vector<64xindex>
      %skv = vector.broadcast %sk : index to vector<64xindex>
      %zero = arith.constant dense<0.0> : !f
      %zero2 = arith.constant dense<0.0> : !rows
      %ninf = arith.constant dense<0xFF800000> : !f
      %ninf2 = arith.constant dense<0xFF800000> : !rows
      %cv = vector.broadcast %c : f32 to !f
      %c2 = vector.broadcast %c : f32 to !rows
      %q = hopper.wait %qr[%c0] : !qring -> !q
      // The first tile: nothing to rescale.
      %k0 = hopper.wait %kr[%c0] : !ring -> !kv
      %s0p = hopper.gemm_ss %q[%tileRow], %k0 transpose_b : !q, !kv -> !hopper.pending<!f>
      %s0 = hopper.wait_gemms pending(0) %s0p : !hopper.pending<!f> -> !f
      hopper.release %kr[%c0] : !ring
      %first0 = arith.muli %nlast, %c128 : index
      %first0v = vector.broadcast %first0 : index to vector<64xindex>
      %j0 = arith.addi %columns, %first0v : vector<64xindex>
      %ok0a = arith.cmpi sle, %j0, %limits : vector<64xindex>
      %ok0b = arith.cmpi slt, %j0, %skv : vector<64xindex>
      %ok0 = arith.andi %ok0a, %ok0b : vector<64xi1>
      %m0s = arith.select %ok0, %s0, %ninf : vector<64xi1>, !f
      %m0p = hopper.row_reduce max %m0s : !f
      %m0 = hopper.quad_reduce max %m0p : !rows
      %m0inf = arith.cmpf oeq, %m0, %ninf2 : !rows
      %m0safe = arith.select %m0inf, %zero2, %m0 : vector<2xi1>, !rows
      %m0c = arith.mulf %m0safe, %c2 : !rows
      %m0n = arith.negf %m0c : !rows
      %m0b = hopper.row_broadcast %m0n : !rows to !f
      %x0 = math.fma %m0s, %cv, %m0b : !f
      %p0 = math.exp2 %x0 : !f
      %l0 = hopper.row_reduce sum %p0 : !f
      %p0p = hopper.pack %p0 to bf16 : !f -> !p
      %edgeResult:4 = scf.for %i = %c1 to %edge step %c1 iter_args(%o = %zero, %m = %m0, %l = %l0, %p = %p0p) -> (!f, !rows, !rows, !p) {
        %prev = arith.subi %i, %c1 : index
        %k = hopper.wait %kr[%i] : !ring -> !kv
        %sp = hopper.gemm_ss %q[%tileRow], %k transpose_b : !q, !kv -> !hopper.pending<!f>
        %v = hopper.wait %vr[%prev] : !ring -> !kv
        %op = hopper.gemm_rs %p, %v plus %o : !f, : !p, !kv -> !hopper.pending<!f>
        %s = hopper.wait_gemms pending(1) %sp : !hopper.pending<!f> -> !f
        hopper.release %kr[%i] : !ring
        %j = arith.subi %nlast, %i : index
        %first = arith.muli %j, %c128 : index
        %firstv = vector.broadcast %first : index to vector<64xindex>
        %js = arith.addi %columns, %firstv : vector<64xindex>
        %ok = arith.cmpi sle, %js, %limits : vector<64xindex>
        %ms = arith.select %ok, %s, %ninf : vector<64xi1>, !f
        %m1p = hopper.row_reduce max %ms : !f
        %m1q = hopper.quad_reduce max %m1p : !rows
        %m1 = arith.maxnumf %m, %m1q : !rows
        %inf = arith.cmpf oeq, %m1, %ninf2 : !rows
        %safe = arith.select %inf, %zero2, %m1 : vector<2xi1>, !rows
        %mc = arith.mulf %safe, %c2 : !rows
        %mn = arith.negf %mc : !rows
        %ax = math.fma %m, %c2, %mn : !rows
        %a = math.exp2 %ax : !rows
        %mb = hopper.row_broadcast %mn : !rows to !f
        %x = math.fma %ms, %cv, %mb : !f
        %pe = math.exp2 %x : !f
        %ps = hopper.row_reduce sum %pe : !f
        %l1 = math.fma %l, %a, %ps : !rows
        hopper.schedule_fence %l1 : !rows
        %o1 = hopper.wait_gemms pending(0) %op : !hopper.pending<!f> -> !f
        hopper.release %vr[%prev] : !ring
        %pp = hopper.pack %pe to bf16 : !f -> !p
        %ab = hopper.row_broadcast %a : !rows to !f
        %o2 = arith.mulf %o1, %ab : !f
        scf.yield %o2, %m1, %l1, %pp : !f, !rows, !rows, !p
      }
      %result:4 = scf.for %i = %edge to %n step %c1 iter_args(%o = %edgeResult#0, %m = %edgeResult#1, %l = %edgeResult#2, %p = %edgeResult#3) -> (!f, !rows, !rows, !p) {
        %prev = arith.subi %i, %c1 : index
        %k = hopper.wait %kr[%i] : !ring -> !kv
        %sp = hopper.gemm_ss %q[%tileRow], %k transpose_b : !q, !kv -> !hopper.pending<!f>
        %v = hopper.wait %vr[%prev] : !ring -> !kv
        %op = hopper.gemm_rs %p, %v plus %o : !f, : !p, !kv -> !hopper.pending<!f>
        %s = hopper.wait_gemms pending(1) %sp : !hopper.pending<!f> -> !f
        hopper.release %kr[%i] : !ring
        %m1p = hopper.row_reduce max %s : !f
        %m1q = hopper.quad_reduce max %m1p : !rows
        %m1 = arith.maxnumf %m, %m1q : !rows
        %mc = arith.mulf %m1, %c2 : !rows
        %mn = arith.negf %mc : !rows
        %ax = math.fma %m, %c2, %mn : !rows
        %a = math.exp2 %ax : !rows
        %mb = hopper.row_broadcast %mn : !rows to !f
        %x = math.fma %s, %cv, %mb : !f
        %pe = math.exp2 %x : !f
        %ps = hopper.row_reduce sum %pe : !f
        %l1 = math.fma %l, %a, %ps : !rows
        hopper.schedule_fence %l1 : !rows
        %o1 = hopper.wait_gemms pending(0) %op : !hopper.pending<!f> -> !f
        hopper.release %vr[%prev] : !ring
        %pp = hopper.pack %pe to bf16 : !f -> !p
        %ab = hopper.row_broadcast %a : !rows to !f
        %o2 = arith.mulf %o1, %ab : !f
        scf.yield %o2, %m1, %l1, %pp : !f, !rows, !rows, !p
      }
      %v = hopper.wait %vr[%nlast] : !ring -> !kv
      %op = hopper.gemm_rs %result#3, %v plus %result#0 : !f, : !p, !kv -> !hopper.pending<!f>
      %o = hopper.wait_gemms pending(0) %op : !hopper.pending<!f> -> !f
      %l = hopper.quad_reduce sum %result#2 : !rows
      %some = arith.cmpf one, %l, %zero2 : !rows
      %one = arith.constant dense<1.0> : !rows
      %r0 = arith.divf %one, %l : !rows
      %r = arith.select %some, %r0, %zero2 : vector<2xi1>, !rows
      %rb = hopper.row_broadcast %r : !rows to !f
      %on = arith.mulf %o, %rb : !f
      %ll = math.log2 %l : !rows
      %ml = math.fma %result#1, %c2, %ll : !rows
      %ln2 = arith.constant dense<0.693147182> : !rows
      %lsev = arith.mulf %ml, %ln2 : !rows
      hopper.store_rows %lsev, %lse[%b, %h, %rows] limit(%sq) : memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
      %opk = hopper.pack %on to bf16 : !f -> !p
      hopper.store_fragment %opk, %q[%tileRow] : !p, !q
      hopper.tma_store %q[%tileRow] to %omap[%b, %h, %row0] warpgroup(%w) : !q to !omap
    }
    gpu.return
  }
}
// CHECK-NOT: hopper.
// CHECK-NOT: vector.
// CHECK-NOT: index
// CHECK: nvvm.setmaxregister decrease 24
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK: nvvm.setmaxregister increase 240
// CHECK-COUNT-6: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: nvvm.stmatrix
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
