"""Other libraries on the same problems: PyTorch, and FlashAttention over the matrix products of OpenBLAS and oneDNN."""
import glob
import json
import os
import subprocess
import sys

from rows import CAUSAL, WINDOW

TORCH_WORKER = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import torch

def measure(row):
    torch.set_num_threads(row["threads"])
    dtype = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}[row["dtype"]]
    generator = torch.Generator().manual_seed(1)
    def tensor(heads, n):
        bhsd = row["layout"] == "bhsd"
        shape = (1, heads, n, row["depth"]) if bhsd else (1, n, heads, row["depth"])
        values = torch.randn(shape, generator=generator).to(dtype)
        return values if bhsd else values.transpose(1, 2)
    q, k, v = tensor(row["heads"], row["n"]), tensor(row["kv_heads"], row["nk"]), tensor(row["kv_heads"], row["nk"])
    mask = None
    if row["window"]:
        i = torch.arange(row["n"])[:, None] + row["nk"] - row["n"]
        j = torch.arange(row["nk"])[None, :]
        mask = (j <= i) & (j >= i - 255)
    grouped = {}
    if row["n"] == 1 and mask is None and not row["causal"] and row["heads"] != row["kv_heads"]:
        # One query for each head: the group's heads as queries of one head is the same problem, and far faster there.
        q = q.reshape(1, row["kv_heads"], -1, row["depth"])
    elif row["heads"] != row["kv_heads"]:
        grouped = {"enable_gqa": True}
    def attend():
        with torch.no_grad():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=row["causal"], **grouped)
    attend()
    times, end = [], time.perf_counter() + row["budget"]
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 200):
        start = time.perf_counter()
        attend()
        times.append(time.perf_counter() - start)
    return times

print(json.dumps(torch.__version__), flush=True)
for line in sys.stdin:
    print(json.dumps(measure(json.loads(line))), flush=True)
"""


class Torch:
    """scaled_dot_product_attention, contiguous, warm, with as many threads as the row; one process for the whole run."""
    name = "PyTorch"

    def __init__(self, python):
        self.process = subprocess.Popen([python, "-c", TORCH_WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{python} cannot import torch: {self.process.stderr.read().strip().splitlines()[-1]}")
        self.version = json.loads(line)

    def takes(self, row):
        return True

    def seconds(self, row, budget):
        fields = {"threads": row.threads, "dtype": row.dtype, "depth": row.depth, "n": row.n, "nk": row.nk, "heads": row.heads,
                  "kv_heads": row.kv_heads, "layout": row.layout, "window": row.mask == WINDOW, "causal": row.mask == CAUSAL,
                  "budget": budget}
        self.process.stdin.write(json.dumps(fields) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"PyTorch failed on {row.label()}: {self.process.stderr.read().strip().splitlines()[-1]}")
        return json.loads(line)


class GemmFlash:
    """FlashAttention over a library's matrix product (gemm_flash.cpp): f32, one head, one thread."""

    def __init__(self, name, build, library, kind):
        self.name, self.library, self.kind = name, library, kind
        self.version = os.path.basename(os.path.realpath(library)).split(".so")[-1].strip(".")
        if not self.version.count("."):
            self.version = os.path.basename(os.path.realpath(library)).split("-r")[-1].split(".so")[0].lstrip(".") or "-"
        self.tool = os.path.join(build, "bin", "fa-bench-gemm-flash")

    def takes(self, row):
        return row.dtype == "f32" and row.heads == 1 and row.threads == 1 and row.n == row.nk

    def seconds(self, row, budget):
        repeat = max(3, min(200, int(budget * 1e11 / row.operations())))
        command = [self.tool, self.library, self.kind, str(row.n), str(row.nk), str(row.depth), row.mask.split("=")[0], str(repeat)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        # OpenBLAS before 0.3.22 takes its slowest kernels on CPUs that are newer than it.
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            if "OPENBLAS_CORETYPE" not in os.environ and "avx512f" in info.read():
                environment["OPENBLAS_CORETYPE"] = "SKYLAKEX"
        folder = os.path.dirname(self.library)
        environment["LD_LIBRARY_PATH"] = folder + ":" + environment.get("LD_LIBRARY_PATH", "")
        # Builds over TBB know no OMP_NUM_THREADS: they use the cores that they may run on.
        core = {max(os.sched_getaffinity(0))}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment,
                              preexec_fn=lambda: os.sched_setaffinity(0, core))
        return json.loads(done.stdout)


def _library(given, patterns):
    """The path given by the user, or the first library that the system or a pip package of this Python has."""
    if given:
        return given
    folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", os.path.join(sys.prefix, "lib"),
               *(os.path.join(path, "*.libs") for path in sys.path if path.endswith("site-packages"))]
    for folder in folders:
        for pattern in patterns:
            found = sorted(glob.glob(os.path.join(folder, pattern)))
            if found:
                return os.path.realpath(found[-1])
    return None


def find_peers(options):
    """Every peer that this machine has; says on stderr which are missing."""
    peers = []
    for name, given, patterns, kind in (("OpenBLAS", options.openblas, ["libopenblas.so*", "libopenblas*.so*"], "blas"),
                                        ("oneDNN", options.onednn, ["libdnnl.so*"], "dnnl")):
        library = _library(given, patterns)
        if library:
            peers.append(GemmFlash(name, options.build, library, kind))
        else:
            print(f"{name} is not used: no shared library was found (give its path)", file=sys.stderr)
    try:
        peers.append(Torch(options.torch_python or sys.executable))
    except RuntimeError as error:
        print(f"PyTorch is not used: {error} (--torch-python: an interpreter that has it)", file=sys.stderr)
    return peers

