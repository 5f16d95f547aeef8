// RUN: fa-opt %s --fa-select-schedule | FileCheck %s --check-prefix=CPU
// RUN: fa-opt %s --fa-select-schedule="tile-q=32 order=key_outer" | FileCheck %s --check-prefix=FIELDS
// RUN: fa-opt %s --fa-select-schedule="schedule=#fa.schedule<tile_q=16,tile_kv=48>" | FileCheck %s --check-prefix=WHOLE
// RUN: fa-opt %s --fa-select-schedule="target=sm_90a" | FileCheck %s --check-prefix=HOPPER
// RUN: not fa-opt %s --fa-select-schedule="target=sm_80" 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not fa-opt %s --fa-select-schedule="schedule=big" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not fa-opt %s --fa-select-schedule="order=diagonal" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not fa-opt %s --fa-select-schedule="target=sm_90a tile-q=100" 2>&1 | FileCheck %s --check-prefix=FIT

// TARGET: expected target cpu or sm_90a, but got 'sm_80'
// TEXT: expected an attribute such as #fa.schedule<tile_q = 64, tile_kv = 64>, but got 'big'
// ORDER: expected order query_outer or key_outer, but got 'diagonal'
// FIT: schedule does not fit

// CPU-LABEL: func.func @long
// CPU: schedule(#fa.schedule<tile_q = {{[0-9]+}}, tile_kv = {{[0-9]+}}, target = #fa.cpu
// FIELDS-LABEL: func.func @long
// FIELDS: schedule(#fa.schedule<tile_q = 32, tile_kv = {{[0-9]+}}, order = key_outer, target = #fa.cpu
// WHOLE-LABEL: func.func @long
// WHOLE: schedule(#fa.schedule<tile_q = 16, tile_kv = 48, target = #fa.cpu
// HOPPER-LABEL: func.func @long
// HOPPER: schedule(#fa.schedule<tile_q = 128, tile_kv = 128, target = #fa.hopper
func.func @long(%q: memref<1x1x4096x128xbf16>) {
  fa.attention ins(%q, %q, %q : memref<1x1x4096x128xbf16>, memref<1x1x4096x128xbf16>, memref<1x1x4096x128xbf16>) outs(%q : memref<1x1x4096x128xbf16>)
  return
}
