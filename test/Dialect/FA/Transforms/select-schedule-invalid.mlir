// RUN: fa-opt %s --fa-select-schedule --verify-diagnostics

func.func @other_target(%q: memref<1x1x64x8xf16>) {
  // expected-error @+1 {{expected a schedule for target cpu, but got one for sm_90a}}
  fa.attention ins(%q, %q, %q : memref<1x1x64x8xf16>, memref<1x1x64x8xf16>, memref<1x1x64x8xf16>) outs(%q : memref<1x1x64x8xf16>)
      schedule(#fa.schedule<tile_q = 128, tile_kv = 16, target = #fa.hopper>)
  return
}
