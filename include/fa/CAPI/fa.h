/* C interface of the attention compiler: attention on host memory, compiled on first use and kept.
 *
 *   O = softmax(mask(score(scale Q K^T))) V      order: dot, scale, softcap, bias, ALiBi, mask, softmax
 *
 * Binary compatibility: structs that grow start with their own size, and enumerators keep their numbers.
 * All functions may be called from several threads at once. */
#ifndef FA_CAPI_FA_H
#define FA_CAPI_FA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FA_API __attribute__((visibility("default")))
#else
#define FA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fa_status {
  FA_OK = 0,
  FA_INVALID_ARGUMENT = 1, /* contradictory or unsupported input; fa_last_error says what would be right */
  FA_COMPILE_FAILED = 2,
  FA_RUN_FAILED = 3,
  FA_INTERNAL_ERROR = 4
} fa_status;

typedef enum fa_dtype { FA_F64 = 0, FA_F32 = 1, FA_F16 = 2, FA_BF16 = 3 } fa_dtype;

/* Where a diagonal or a distance starts: query i stands at key position i (top left), or at i + keys - queries, so that
 * the last query stands at the last key (bottom right). */
typedef enum fa_corner { FA_CORNER_NONE = 0, FA_CORNER_TOP_LEFT = 1, FA_CORNER_BOTTOM_RIGHT = 2 } fa_corner;

typedef enum fa_form {
  FA_FORM_TILED = 0, /* FlashAttention: an online softmax over tiles */
  FA_FORM_NAIVE = 1  /* three passes over all scores, for comparison */
} fa_form;

typedef enum fa_order {
  FA_ORDER_QUERY_OUTER = 0, /* FlashAttention-2 */
  FA_ORDER_KEY_OUTER = 1    /* FlashAttention-1 */
} fa_order;

#define FA_UNLIMITED INT64_MAX

/* Memory that the caller owns. Sizes and strides in elements, outermost first. */
typedef struct fa_tensor {
  void *data; /* element (0, 0, ...); aligned to its type */
  int32_t dtype;
  int32_t rank;
  const int64_t *sizes;
  const int64_t *strides; /* null: contiguous. Any sign; 0 repeats (inputs only) */
} fa_tensor;

typedef struct fa_attention_options {
  size_t struct_size;    /* sizeof(fa_attention_options) of the caller */
  double scale;          /* NaN: 1 / sqrt(depth) */
  double softcap;        /* s = cap tanh(s / cap); 0: none */
  int32_t causal;        /* fa_corner: key <= position of the query */
  int32_t window_corner; /* fa_corner: FA_CORNER_NONE means no window */
  int64_t window_left;   /* keys before the position, inclusive bounds; FA_UNLIMITED; negative numbers are refused */
  int64_t window_right;
  int32_t alibi;                 /* fa_corner: s -= slope[head] * |position - key| */
  int32_t form;                  /* fa_form */
  int32_t order;                 /* fa_order */
  uint32_t threads;              /* 0: one for each core */
  int64_t tile_q, tile_kv;       /* 0: the machine model chooses */
  const fa_tensor *alibi_slopes; /* f32 [heads]; with alibi */
  const fa_tensor *bias; /* dtype of q; rank 1 to 4, aligned to [batch, heads, queries, keys] on the right; a size of 1
                            repeats; null: none */
} fa_attention_options;

/* Fills in the defaults: no mask, scale 1 / sqrt(depth), tiled, everything else automatic. */
FA_API void fa_attention_options_init(fa_attention_options *options, size_t struct_size);

/* q [batch, heads, queries, depth], k [batch, kv_heads, keys, depth], v [batch, kv_heads, keys, depth_v] of one dtype;
 * o [batch, heads, queries, depth_v] of that dtype; lse [batch, heads, queries] in natural log, f32 (f64 for f64), or
 * null. heads is a multiple of kv_heads: query head h reads kv head h / (heads / kv_heads). A query that sees no key
 * gives o = 0 and lse = -inf. `options` may be null. Compiles on the first call for a combination of types, heads,
 * depths and options; lengths and strides may vary without recompiling. On failure o and lse are left in an unspecified
 * state. */
FA_API fa_status fa_attention_forward(const fa_tensor *q, const fa_tensor *k, const fa_tensor *v, const fa_tensor *o,
                                      const fa_tensor *lse, const fa_attention_options *options);

/* The same in float64 by the slow, independent reference (f64 inputs: extended precision). o and lse may have any
 * dtype. form, order, tiles are ignored. */
FA_API fa_status fa_attention_reference(const fa_tensor *q, const fa_tensor *k, const fa_tensor *v, const fa_tensor *o,
                                        const fa_tensor *lse, const fa_attention_options *options);

/* Why the last call on this thread failed; empty after success. Valid until the next call on this thread. */
FA_API const char *fa_last_error(void);

/* Kernels compiled by this process so far: grows only when a new combination is seen. */
FA_API uint64_t fa_compile_count(void);

/* "major.minor.patch" */
FA_API const char *fa_version(void);

#ifdef __cplusplus
}
#endif
#endif
