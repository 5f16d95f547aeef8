// o[b, i] = scale * q[b, i] over strided matrices; one block for each row. Argument layout: abi "so".
#include <stdint.h>

typedef struct {
  float *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} Matrix;

void scaleRow(int64_t block, void **arguments) {
  const Matrix *q = arguments[0];
  const Matrix *o = arguments[1];
  const float scale = *(const float *)arguments[2];
  for (int64_t i = 0; i < q->sizes[1]; ++i)
    o->aligned[o->offset + block * o->strides[0] + i * o->strides[1]] =
        scale * q->aligned[q->offset + block * q->strides[0] + i * q->strides[1]];
}
