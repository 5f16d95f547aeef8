import os
import time

import torch


def create_block_mask(function, batch, heads, queries, keys, device):
    assert function(0, 0, 5, 5) and not function(0, 0, 5, 6)
    return "causal"


def flex_attention(q, k, v, block_mask):
    if block_mask is None:
        time.sleep(float(os.environ.get("FLEX_SECONDS", "0")))
    torch.launches += 1
