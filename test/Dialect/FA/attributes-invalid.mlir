// RUN: fa-opt %s --split-input-file --verify-diagnostics

// Negative never means unlimited.
// expected-error @+1 {{expected window bound 'left' to be at least 0, or `none` for unlimited, but got -3}}
#m = #fa.window<left = -3, right = 0, top_left>

// -----

// expected-error @+1 {{expected an integer or `none` for unlimited}}
#m = #fa.window<left = all, right = 0, top_left>

// -----

// expected-error @+2 {{to be one of: top_left, bottom_right}}
// expected-error @+1 {{failed to parse}}
#m = #fa.causal<bottom_left>

// -----

// expected-error @+1 {{expected tile_kv between 1 and 65536, but got 0}}
#s = #fa.schedule<tile_q = 64, tile_kv = 0>

// -----

// expected-error @+1 {{expected unroll to be 1 or 2, but got 3}}
#s = #fa.hopper<unroll = 3>

// -----

// expected-error @+1 {{expected unroll = 1 without overlap (no product runs under the softmax), but got 2}}
#s = #fa.hopper<overlap = false, unroll = 2>

// -----

// expected-error @+1 {{expected 1 to 3 consumer warpgroups, but got 4}}
#s = #fa.hopper<warpgroups = 4>

// -----

// expected-error @+1 {{expected order = query_outer for target #fa.hopper, but got key_outer}}
#s = #fa.schedule<tile_q = 128, tile_kv = 64, order = key_outer, target = #fa.hopper>

// -----

// expected-error @+1 {{expected a state of the form <tile_q x depth_v x type>}}
func.func private @f(!fa.state<4xf32>)

// -----

// expected-error @+1 {{expected element type f32 or f64, but got 'bf16'}}
func.func private @f(!fa.state<4x4xbf16>)

// -----

// expected-error @+1 {{expected split_kv between 1 and 65536, but got 0}}
#s = #fa.schedule<tile_q = 4, tile_kv = 64, split_kv = 0>

// -----

// expected-error @+1 {{expected split_kv = 1 for order = key_outer, but got 2}}
#s = #fa.schedule<tile_q = 4, tile_kv = 64, order = key_outer, split_kv = 2>

// -----

// expected-error @+1 {{expected split_kv = 1 for target #fa.hopper, but got 4; only CPUs join parts of the keys}}
#s = #fa.schedule<tile_q = 128, tile_kv = 64, split_kv = 4, target = #fa.hopper>

// -----

// expected-error @+1 {{expected tile_q of at most 16 for lanes = depth, but got 17; use lanes = query}}
#s = #fa.schedule<tile_q = 17, tile_kv = 64, target = #fa.cpu<vector_bits = 512, lanes = depth>>
