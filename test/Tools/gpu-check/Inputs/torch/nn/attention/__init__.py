import contextlib

current = None


class SDPBackend:
    CUDNN_ATTENTION, FLASH_ATTENTION = "cudnn", "flash"


@contextlib.contextmanager
def sdpa_kernel(backend):
    global current
    current = backend
    yield
    current = None
