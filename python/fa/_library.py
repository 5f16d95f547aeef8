"""Finds libfa.so and mirrors the structs of include/fa/CAPI/fa.h."""
import ctypes
import os
import pathlib


class Error(RuntimeError):
    """A call that the library refused or could not carry out; `code` is its fa_status."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("scale", ctypes.c_double), ("softcap", ctypes.c_double),
        ("causal", ctypes.c_int32), ("window_corner", ctypes.c_int32),
        ("window_left", ctypes.c_int64), ("window_right", ctypes.c_int64),
        ("alibi", ctypes.c_int32), ("form", ctypes.c_int32), ("order", ctypes.c_int32), ("threads", ctypes.c_uint32),
        ("tile_q", ctypes.c_int64), ("tile_kv", ctypes.c_int64),
        ("alibi_slopes", ctypes.POINTER(Tensor)), ("bias", ctypes.POINTER(Tensor)),
    ]


INVALID_ARGUMENT = 1


def _candidates():
    """Where libfa.so may lie: FA_LIBRARY alone if set, else beside the package, then in the build folders."""
    chosen = os.environ.get("FA_LIBRARY")
    if chosen:
        return [pathlib.Path(chosen)]
    here = pathlib.Path(__file__).resolve().parent
    root = here.parent.parent
    return [here / "libfa.so", *(root / build / "lib" / "libfa.so" for build in ("build", "build-debug"))]


def _load():
    candidates = _candidates()
    for path in candidates:
        if path.exists():
            return ctypes.CDLL(str(path)), path
    tried = ", ".join(str(path) for path in candidates)
    raise ImportError(f"expected libfa.so at one of {tried}; build it (ninja -C build FACAPI) or set FA_LIBRARY")


_library, _path = _load()
_tensor = ctypes.POINTER(Tensor)
for _name in ("fa_attention_forward", "fa_attention_reference"):
    _function = getattr(_library, _name)
    _function.argtypes = [_tensor] * 5 + [ctypes.POINTER(Options)]
    _function.restype = ctypes.c_int
_library.fa_attention_options_init.argtypes = [ctypes.POINTER(Options), ctypes.c_size_t]
_library.fa_attention_options_init.restype = None
_library.fa_last_error.restype = ctypes.c_char_p
_library.fa_compile_count.restype = ctypes.c_uint64
_library.fa_version.restype = ctypes.c_char_p


def library_path():
    """The shared library in use."""
    return _path


def version():
    """Version of the library, "major.minor.patch"."""
    return _library.fa_version().decode()


def compile_count():
    """Kernels compiled by this process so far. Grows only for new types, heads, depths or options, not for new lengths."""
    return _library.fa_compile_count()


def default_options():
    options = Options()
    _library.fa_attention_options_init(ctypes.byref(options), ctypes.sizeof(options))
    return options


def call(name, tensors, options):
    """Calls a function of the library; ValueError for arguments it refuses, Error for everything else."""
    pointers = [ctypes.byref(tensor) if tensor is not None else None for tensor in tensors]
    code = getattr(_library, name)(*pointers, ctypes.byref(options))
    if code == 0:
        return
    message = _library.fa_last_error().decode(errors="replace")
    raise ValueError(message) if code == INVALID_ARGUMENT else Error(code, message)
