/* Causal attention on one head, from C.
 *
 *   cc -I include examples/c/attention.c -L build/lib -lfa -Wl,-rpath,build/lib -o attention && ./attention */
#include <stdio.h>

#include "fa/CAPI/fa.h"

enum { QUERIES = 6, KEYS = 6, DEPTH = 1 };

int main(void) {
  /* All scores are 0, so that row i is the mean of the values it sees; v[j] = 2^j tells which these are. */
  float q[QUERIES * DEPTH] = {0}, k[KEYS * DEPTH] = {0}, v[KEYS * DEPTH], o[QUERIES * DEPTH], lse[QUERIES];
  for (int j = 0; j < KEYS; ++j)
    v[j] = (float)(1 << j);

  const int64_t query_sizes[] = {1, 1, QUERIES, DEPTH}, key_sizes[] = {1, 1, KEYS, DEPTH}, row_sizes[] = {1, 1, QUERIES};
  const fa_tensor tq = {q, FA_F32, 4, query_sizes, NULL}, tk = {k, FA_F32, 4, key_sizes, NULL},
                  tv = {v, FA_F32, 4, key_sizes, NULL}, to = {o, FA_F32, 4, query_sizes, NULL},
                  tl = {lse, FA_F32, 3, row_sizes, NULL};

  fa_attention_options options;
  fa_attention_options_init(&options, sizeof options);
  options.causal = FA_CORNER_BOTTOM_RIGHT;
  options.window_corner = FA_CORNER_BOTTOM_RIGHT;
  options.window_left = 2;

  if (fa_attention_forward(&tq, &tk, &tv, &to, &tl, &options) != FA_OK) {
    fprintf(stderr, "error: %s\n", fa_last_error());
    return 1;
  }
  for (int i = 0; i < QUERIES; ++i)
    printf("row %d: o = %8.5f  lse = %.5f\n", i, o[i], lse[i]);

  /* Contradictions are codes with a message, never a crash. */
  options.window_left = -3;
  const fa_status status = fa_attention_forward(&tq, &tk, &tv, &to, &tl, &options);
  printf("status %d: %s\n", (int)status, fa_last_error());
  return 0;
}
