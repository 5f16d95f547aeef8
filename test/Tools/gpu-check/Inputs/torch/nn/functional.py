import torch
from torch.nn import attention


def scaled_dot_product_attention(q, k, v, is_causal):
    if attention.current == "flash" and q.shape[3] > 128:
        raise RuntimeError("No available kernel. Aborting execution.\nsecond line")
    assert q.shape == k.shape == v.shape and attention.current in ("cudnn", "flash")
    torch.launches += 1
