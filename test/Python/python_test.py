"""Tests of python/fa; run by attention.test."""
import unittest

import numpy as np

import fa


def arrays(*shapes, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def textbook(q, k, v, mask=None):
    """Attention in NumPy: nothing of the project."""
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


class Lesson(unittest.TestCase):
    def test_tiled_equals_textbook_for_all_tiles(self):
        d = 16  # one depth: kernels are kept for all lengths
        for n in (1, 16, 65, 100):
            q, k, v = arrays((n, d), (n, d), (n, d))
            for causal in (False, True):
                expected = textbook(q, k, v, np.tri(n, dtype=bool) if causal else None)
                self.assertLess(abs(fa.naive_attention(q, k, v, causal=causal) - expected).max(), 1e-12)
                for br, bc in ((1, 1), (16, 16), (13, 7), (128, 32)):
                    o = fa.flash_attention_forward(q, k, v, br, bc, causal=causal)
                    self.assertLess(abs(o - expected).max(), 1e-12, (n, br, bc, causal))

    def test_lse(self):
        q, k, v = arrays((20, 8), (20, 8), (20, 8))
        o, lse = fa.flash_attention_forward(q, k, v, 8, 8, return_lse=True)
        s = q @ k.T / np.sqrt(8)
        self.assertLess(abs(lse - np.log(np.exp(s).sum(axis=1))).max(), 1e-12)
        self.assertEqual(lse.shape, (20,))

    def test_later_keys_do_not_change_earlier_rows(self):
        q, k, v = arrays((40, 16), (40, 16), (40, 16))
        before = fa.flash_attention_forward(q, k, v, 16, 16, causal=True)
        k[25:] += 3
        v[25:] = 7
        after = fa.flash_attention_forward(q, k, v, 16, 16, causal=True)
        self.assertTrue((before[:25] == after[:25]).all())
        self.assertFalse((before[25:] == after[25:]).any())

    def test_large_logits(self):
        q, k, v = arrays((30, 8), (30, 8), (30, 8))
        shifted = k + 500 * np.sqrt(8) * q.mean(axis=0) / (q.mean(axis=0) @ q.mean(axis=0))
        o = fa.flash_attention_forward(q, shifted, v, 8, 8)
        self.assertLess(abs(o - textbook(q, shifted, v)).max(), 1e-10)
        self.assertTrue(np.isfinite(o).all())


class Attention(unittest.TestCase):
    def test_ranks_and_grouped_heads(self):
        q, k, v = arrays((2, 4, 9, 8), (2, 2, 11, 8), (2, 2, 11, 5), dtype=np.float32)
        o = fa.attention(q, k, v)
        self.assertEqual(o.shape, (2, 4, 9, 5))
        self.assertEqual(o.dtype, np.float32)
        wide_k, wide_v = (np.repeat(x, 2, axis=1) for x in (k, v))
        self.assertLess(abs(o - textbook(q, wide_k, wide_v)).max(), 1e-6)
        self.assertTrue((fa.attention(q[0], k[0], v[0]) == o[0]).all())

    def test_views_are_not_copied_wrongly(self):
        q, k, v = arrays((2, 9, 4, 8), (2, 9, 4, 8), (4, 2, 8, 9))  # bshd, bshd, and a transposed v
        q, k, v = q.transpose(0, 2, 1, 3), k.transpose(0, 2, 1, 3)[..., ::-1, :], v.transpose(1, 0, 3, 2)
        self.assertLess(abs(fa.attention(q, k, v) - textbook(q, k, v)).max(), 1e-12)
        self.assertLess(abs(fa.attention(q[:, :1], k[:, 1:2], v[:, 2:3]) -
                            textbook(q[:, :1], k[:, 1:2], v[:, 2:3])).max(), 1e-12)

    def test_broadcast_bias(self):
        q, k, v, bias = arrays((2, 3, 6, 4), (2, 3, 7, 4), (2, 3, 7, 4), (3, 1, 7))
        s = q @ np.swapaxes(k, -1, -2) / 2 + bias
        p = np.exp(s)
        expected = p / p.sum(axis=-1, keepdims=True) @ v
        self.assertLess(abs(fa.attention(q, k, v, bias=bias) - expected).max(), 1e-12)
        wide = np.broadcast_to(bias, (2, 3, 6, 7))
        self.assertLess(abs(fa.attention(q, k, v, bias=wide) - expected).max(), 1e-12)

    def test_corners_windows_and_the_rest_match_the_reference(self):
        q, k, v = arrays((2, 10, 8), (2, 14, 8), (2, 14, 8), dtype=np.float32)
        slopes = np.array([0.5, 0.25])
        for options in ({"causal": "top_left"}, {"causal": "bottom_right"}, {"window": (2, 0, "bottom_right")},
                        {"window": (None, 3, "top_left"), "softcap": 2.0}, {"scale": 0.0},
                        {"alibi_slopes": slopes, "alibi": "bottom_right", "causal": "bottom_right"}):
            o, lse = fa.attention(q, k, v, return_lse=True, **options)
            expected, expected_lse = fa.reference_attention(q, k, v, return_lse=True, **options)
            self.assertLess(abs(o - expected).max(), 2e-6, options)
            self.assertLess(abs(lse - expected_lse).max(), 2e-6, options)

    def test_which_keys_a_row_sees(self):
        q, k = np.zeros((6, 1)), np.zeros((6, 1))
        v = 2.0 ** np.arange(6).reshape(6, 1)
        o = fa.attention(q, k, v, window=(2, 0))[:, 0]
        self.assertTrue(np.allclose(o, [1, 3 / 2, 7 / 3, 14 / 3, 28 / 3, 56 / 3], atol=0, rtol=1e-15))

    def test_empty_rows(self):
        q, k, v = arrays((5, 4), (2, 4), (2, 4))
        o, lse = fa.attention(q, k, v, causal="bottom_right", return_lse=True)
        self.assertTrue((o[:3] == 0).all() and (lse[:3] == -np.inf).all())

    def test_half_precision(self):
        q, k, v = arrays((32, 16), (32, 16), (32, 16), dtype=np.float16)
        o = fa.attention(q, k, v)
        self.assertEqual(o.dtype, np.float16)
        self.assertLess(abs(o - fa.reference_attention(q, k, v)).max(), 2e-3)

    def test_kernels_are_kept(self):
        def call(n):
            q, k, v = arrays((n, 24), (n, 24), (n, 24))
            return fa.attention(q, k, v, softcap=1.75)
        call(10)
        count = fa.compile_count()
        for n in (1, 17, 100):
            call(n)
        self.assertEqual(fa.compile_count(), count)


class Errors(unittest.TestCase):
    def refuses(self, kind, text, call, *args, **options):
        with self.assertRaises(kind) as caught:
            call(*args, **options)
        self.assertIn(text, str(caught.exception))

    def test_messages(self):
        q, k, v = arrays((4, 8), (5, 8), (5, 8))
        self.refuses(ValueError, "'top_left' or 'bottom_right', because there are 4 queries and 5 keys", fa.attention, q, k, v,
                     causal=True)
        self.refuses(ValueError, "causal to be False", fa.attention, q, k, v, causal="left")
        self.refuses(ValueError, "window_left to be a number of keys", fa.attention, q, k, v, window=(-3, 0, "top_left"))
        self.refuses(ValueError, "expected k of shape", fa.attention, q, k[:, :7], v)
        self.refuses(ValueError, "same number of dimensions", fa.attention, q, k[None], v)
        self.refuses(ValueError, "2 to 4 dimensions", fa.attention, q[0], k[0], v[0])
        self.refuses(ValueError, "expected k of dtype f64, but got f32", fa.attention, q, k.astype(np.float32), v)
        self.refuses(TypeError, "of dtype float64", fa.attention, q.astype(int), k, v)
        self.refuses(TypeError, "numpy.ndarray, but got list", fa.attention, [[1.0]], k, v)
        self.refuses(ValueError, "Br to be an integer", fa.flash_attention_forward, q, k, v, 0, 4)
        self.refuses(ValueError, "order=", fa.attention, q, k, v, order="both")
        self.refuses(ValueError, "softcap above 0", fa.attention, q, k, v, softcap=-2.0)


if __name__ == "__main__":
    unittest.main()
