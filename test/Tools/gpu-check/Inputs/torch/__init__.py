"""As much of PyTorch as utils/gpu_check/peers.py calls, without a GPU: launches take no time, events count them."""
import contextlib

__version__ = "0.0-stand-in"
bfloat16 = "bfloat16"
launches = 0


class Tensor:
    def __init__(self, sizes):
        self.shape, self.device = sizes, "cuda"

    def __mul__(self, other):
        return self

    __sub__ = __mul__


def rand(sizes, device, dtype):
    assert device == "cuda" and dtype == bfloat16, (device, dtype)
    return Tensor(sizes)


@contextlib.contextmanager
def no_grad():
    yield


def compile(function, dynamic):
    return function


class cuda:
    class Event:
        def __init__(self, enable_timing):
            self.at = None

        def record(self):
            self.at = launches

        def elapsed_time(self, end):
            assert end.at == self.at + 1, "one launch between two events"
            return 0.5  # ms

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def synchronize():
        pass
