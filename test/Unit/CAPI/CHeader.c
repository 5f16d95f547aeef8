// Proof that fa.h is C: built by a C compiler, called by the test.
#include "fa/CAPI/fa.h"

size_t sizeOfOptionsInC(void) { return sizeof(fa_attention_options); }
size_t sizeOfTensorInC(void) { return sizeof(fa_tensor); }
