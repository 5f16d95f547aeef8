// RUN: fa-opt %s | fa-opt | FileCheck %s

// CHECK-LABEL: func.func @combine(
// CHECK:         fa.combine ins(%{{.*}}, %{{.*}} : memref<3x1x8x?x128xf32>, memref<3x1x8x?xf32>) outs(%{{.*}}, %{{.*}} : memref<1x8x?x128xbf16>, memref<1x8x?xf32>)
// CHECK-NEXT:    fa.combine ins(%{{.*}}, %{{.*}} : memref<3x1x8x?x128xf32>, memref<3x1x8x?xf32>) outs(%{{.*}} : memref<1x8x?x128xbf16>)
func.func @combine(%po: memref<3x1x8x?x128xf32>, %plse: memref<3x1x8x?xf32>, %o: memref<1x8x?x128xbf16>,
                   %lse: memref<1x8x?xf32>) {
  fa.combine ins(%po, %plse : memref<3x1x8x?x128xf32>, memref<3x1x8x?xf32>)
             outs(%o, %lse : memref<1x8x?x128xbf16>, memref<1x8x?xf32>)
  fa.combine ins(%po, %plse : memref<3x1x8x?x128xf32>, memref<3x1x8x?xf32>) outs(%o : memref<1x8x?x128xbf16>)
  return
}
