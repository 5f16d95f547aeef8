// What the target cannot do, with the reason and what would help.
// RUN: fa-opt %s -split-input-file -verify-diagnostics=only-expected --fa-kernels-pipeline="target=sm_90a" --convert-fa-to-hopper

!t = memref<1x1x64x64xf32>
func.func @f32(%q: !t, %o: !t) {
  // expected-error @+2 {{expected bf16 or f16 inputs on sm_90a, but got 'f32'}}
  // expected-note @+1 {{the tensor cores would round f32 to TF32; convert to bf16, or compile for the CPU}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) scale(0.125) schedule(#fa.schedule<tile_q = 128, tile_kv = 64, target = #fa.hopper>)
  return
}

// -----

!t = memref<1x1x64x36xbf16>
func.func @depth(%q: !t, %o: !t) {
  // expected-error @+2 {{expected the depth of query and key to be a multiple of 8 up to 256 on sm_90a, but got 36}}
  // expected-note @+1 {{TMA moves rows of 16-byte units; pad the tensors and keep the scale}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) scale(0.125) schedule(#fa.schedule<tile_q = 128, tile_kv = 64, target = #fa.hopper>)
  return
}

// -----

!t = memref<1x1x64x256xbf16>
func.func @shared(%q: !t, %o: !t) {
  // expected-error @+1 {{expected at most 232448 bytes of shared memory, but got 328704 for tile_q = 128, tile_kv = 128, stages = 2, warpgroups = 2; nearest that fits: tile_q = 128, tile_kv = 80}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) scale(0.125) schedule(#fa.schedule<tile_q = 128, tile_kv = 128, target = #fa.hopper>)
  return
}

// -----

!t = memref<1x1x64x64xbf16>
func.func @stages(%q: !t, %o: !t) {
  // expected-error @+1 {{expected at least 2 stages with overlap}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) scale(0.125) schedule(#fa.schedule<tile_q = 128, tile_kv = 64, target = #fa.hopper<stages = 1>>)
  return
}
