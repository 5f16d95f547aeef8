// RUN: fa-opt %s --fa-select-schedule="target=sm_90a" --verify-diagnostics

// Two tiles in each iteration need registers for two tiles of probabilities.
func.func @two_buffers(%q: memref<1x1x64x64xf16>) {
  // expected-error @+1 {{schedule does not fit: expected at most 160 registers of a consumer thread, but got 213 for tile_q = 192, tile_kv = 128, stages = 2, warpgroups = 3, unroll = 2; nearest that fits: tile_q = 128, tile_kv = 128, stages = 2, warpgroups = 2, unroll = 2}}
  fa.attention ins(%q, %q, %q : memref<1x1x64x64xf16>, memref<1x1x64x64xf16>, memref<1x1x64x64xf16>) outs(%q : memref<1x1x64x64xf16>)
      schedule(#fa.schedule<tile_q = 192, tile_kv = 128, target = #fa.hopper<warpgroups = 3, unroll = 2>>)
  return
}
