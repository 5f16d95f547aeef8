"""Attention on this machine's CPU: our kernels against the machine's limits and against other libraries, in one run.

    ninja -C build fa-run fa-bench-peaks fa-bench-gemm-flash
    python3 bench/cpu/bench.py --build build --json results.json --svg docs/images/cpu-benchmark.svg --markdown table.md

Every row is measured round by round: ours, then each peer, so that a change of clock or load meets all of them. The figure
of a row is the median of its runs; rates count 2 (D + Dv) operations per visible pair. Peers are used when they can be
found: PyTorch (scaled_dot_product_attention, contiguous, warm, with the given number of threads), and FlashAttention in
blocks of 256 x 512 over the f32 matrix products of OpenBLAS and oneDNN (--openblas, --onednn: their shared libraries).
"""
import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from plot import write_svg  # noqa: E402

FULL, CAUSAL, WINDOW = "full", "causal", "window 255"


class Row:
    """One problem: batch 1, `heads` query heads over `kv_heads`, `n` queries against `nk` keys."""

    def __init__(self, name, dtype, depth, mask, n, threads=1, heads=1, kv_heads=None, nk=None, layout="bhsd"):
        self.name, self.dtype, self.depth, self.mask, self.n, self.threads = name, dtype, depth, mask, n, threads
        self.heads, self.kv_heads, self.nk, self.layout = heads, kv_heads or heads, nk or n, layout

    def pairs(self):
        """Visible (query, key) pairs of all heads; both masks end in the bottom right corner."""
        total = 0
        for i in range(self.n):
            last = i + self.nk - self.n
            if self.mask == FULL:
                total += self.nk
            elif self.mask == CAUSAL:
                total += min(max(last + 1, 0), self.nk)
            else:
                total += min(max(last + 1, 0), self.nk, 256)
        return total * self.heads

    def operations(self):
        return 4.0 * self.depth * self.pairs()

    def bytes_read(self):
        size = {"f64": 8, "f32": 4}.get(self.dtype, 2)
        return 2.0 * self.kv_heads * self.nk * self.depth * size

    def flags(self):
        flags = [f"--dtype={self.dtype}", f"--depth={self.depth}", f"--seq-q={self.n}", f"--seq-kv={self.nk}",
                 f"--heads={self.heads}", f"--kv-heads={self.kv_heads}", f"--layout={self.layout}",
                 f"--threads={self.threads}", "--no-lse", "--no-check", "--format=json"]
        if self.mask == CAUSAL:
            flags.append("--causal=bottom_right")
        if self.mask == WINDOW:
            flags.append("--window=255,0,bottom_right")
        return flags


def rows(quick):
    """The rows of the benchmark; `quick` keeps those that the README shows."""
    lengths = (1024, 4096) if quick else (512, 1024, 2048, 4096, 8192)
    result = []
    for dtype in ("f32", "bf16"):
        for depth in (64, 128):
            for mask in (FULL, CAUSAL):
                for n in lengths:
                    result.append(Row("prefill", dtype, depth, mask, n))
            result.append(Row("prefill", dtype, depth, WINDOW, 8192))
    for depth in (64, 128):
        result.append(Row("prefill", "f64", depth, FULL, 1024))
        for threads in (1, 2):
            result.append(Row("threads", "f32", depth, CAUSAL, 2048, threads, heads=4))
    for n in (1000, 1023, 1024, 1025):
        result.append(Row("tail", "f32", 64, FULL, n))
    for layout in ("bhsd", "bshd"):
        result.append(Row("layout", "f32", 64, FULL, 1024, heads=8, layout=layout))
    for dtype in ("f32", "bf16"):
        for threads in (1, 2):
            result.append(Row("decode", dtype, 128, FULL, 1, threads, heads=32, kv_heads=8, nk=8192))
    return result


class Ours:
    name = "fa"

    def __init__(self, build, cache):
        self.tool = os.path.join(build, "bin", "fa-run")
        self.cache = cache

    def seconds(self, row, repeat):
        command = [self.tool, f"--cache-dir={self.cache}", f"--repeat={repeat}", *row.flags()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)["run"]["seconds"]

    def compile_seconds(self, count):
        """(median of cold compiles, median of cache hits) of a causal f32 kernel of depth 64."""
        row = Row("jit", "f32", 64, CAUSAL, 256)
        cold, warm = [], []
        for _ in range(count):
            for flags, times in (["--no-cache"], cold), ([f"--cache-dir={self.cache}"], warm):
                command = [self.tool, *flags, *row.flags()]
                report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                if times is cold or report["compile"]["cache"] == "hit":
                    times.append(report["compile"]["seconds"])
        return statistics.median(cold), statistics.median(warm) if warm else math.nan


class Torch:
    name = "PyTorch"

    def takes(self, row):
        return True

    def __init__(self):
        import torch
        self.torch = torch
        self.version = torch.__version__

    def seconds(self, row, repeat):
        torch = self.torch
        torch.set_num_threads(row.threads)
        dtype = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16}[row.dtype]
        generator = torch.Generator().manual_seed(1)

        def tensor(heads, n):
            return torch.randn((1, heads, n, row.depth), generator=generator).to(dtype)

        q, k, v = tensor(row.heads, row.n), tensor(row.kv_heads, row.nk), tensor(row.kv_heads, row.nk)
        mask = None
        if row.mask == WINDOW:
            i = torch.arange(row.n)[:, None] + row.nk - row.n
            j = torch.arange(row.nk)[None, :]
            mask = (j <= i) & (j >= i - 255)

        def attend():
            with torch.no_grad():
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, attn_mask=mask, is_causal=row.mask == CAUSAL, enable_gqa=row.heads != row.kv_heads)

        attend()
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            attend()
            times.append(time.perf_counter() - start)
        return times


class GemmFlash:
    """FlashAttention over a library's matrix product (gemm_flash.cpp): f32, one head, one thread."""

    def __init__(self, name, version, build, library, kind):
        self.name, self.version, self.library, self.kind = name, version, library, kind
        self.tool = os.path.join(build, "bin", "fa-bench-gemm-flash")

    def takes(self, row):
        return row.dtype == "f32" and row.heads == 1 and row.threads == 1 and row.layout == "bhsd"

    def seconds(self, row, repeat):
        command = [self.tool, self.library, self.kind, str(row.n), str(row.nk), str(row.depth), row.mask.split()[0],
                   str(repeat)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        # OpenBLAS before 0.3.22 takes its slowest kernels on CPUs that are newer than it.
        if "OPENBLAS_CORETYPE" not in os.environ and "avx512f" in open("/proc/cpuinfo", encoding="utf-8").read():
            environment["OPENBLAS_CORETYPE"] = "SKYLAKEX"
        folder = os.path.dirname(self.library)
        environment["LD_LIBRARY_PATH"] = folder + ":" + environment.get("LD_LIBRARY_PATH", "")
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return json.loads(done.stdout)


def find_peers(options):
    peers = []
    for name, library, kind in (("OpenBLAS", options.openblas, "blas"), ("oneDNN", options.onednn, "dnnl")):
        if library:
            version = os.path.basename(os.path.realpath(library)).split(".so")[-1].strip(".") or "-"
            peers.append(GemmFlash(name, version, options.build, library, kind))
    try:
        peers.append(Torch())
    except ImportError as error:
        print(f"PyTorch is not used: {error}", file=sys.stderr)
    return peers


def measure(row, systems, rounds):
    """{system: seconds of all its runs}; the systems take turns."""
    repeat = max(3, min(20, int(2e9 / row.operations()) + 1))
    times = {system.name: [] for system in systems}
    for _ in range(rounds):
        for system in systems:
            times[system.name] += system.seconds(row, repeat)
    return times


def describe(row, times, peaks, statistic):
    """The entry of one row: figures of every system, and ours as a share of the limit that binds it."""
    limit = peaks[str(row.threads)]
    seconds = {name: statistic(values) for name, values in times.items()}
    entry = {"name": row.name, "dtype": row.dtype, "depth": row.depth, "mask": row.mask, "n": row.n, "nk": row.nk,
             "heads": row.heads, "kv_heads": row.kv_heads, "threads": row.threads, "layout": row.layout,
             "seconds": seconds, "gflops": {name: row.operations() / s * 1e-9 for name, s in seconds.items()}}
    if row.name == "decode":
        entry["gbytes"] = {name: row.bytes_read() / s * 1e-9 for name, s in seconds.items()}
        entry["share"] = entry["gbytes"]["fa"] / limit["read"]
        entry["limit"] = "read"
    else:
        # 16-bit inputs are widened and multiplied in f32 where that is the faster unit.
        entry["limit"] = row.dtype if row.dtype in limit else "f32"
        entry["share"] = entry["gflops"]["fa"] / limit[entry["limit"]]
        entry["f32_share"] = entry["gflops"]["fa"] / limit["f32"]
    return entry


def markdown(results):
    peers = results["peers"]
    head = ["problem", "ours", "of the limit", *[f"{name} {version}" for name, version in peers.items()],
            *[f"ours / {name}" for name in peers]]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for entry in results["rows"]:
        size = f"N = {entry['n']}" if entry["n"] == entry["nk"] else f"{entry['n']} x {entry['nk']}"
        what = f"{entry['name']} {entry['dtype']} d{entry['depth']} {entry['mask']} {size}"
        if entry["heads"] > 1:
            what += f", {entry['heads']}/{entry['kv_heads']} heads, {entry['layout']}"
        what += f", {entry['threads']} thread" + ("s" if entry["threads"] > 1 else "")
        unit, key = ("GB/s", "gbytes") if entry["name"] == "decode" else ("GFLOP/s", "gflops")
        cells = [what, f"{entry[key]['fa']:.1f} {unit}", f"{100 * entry['share']:.0f} % of {entry['limit']}"]
        cells += [f"{entry[key][name]:.1f}" if name in entry[key] else "" for name in peers]
        cells += [f"{entry[key]['fa'] / entry[key][name]:.2f}" if name in entry[key] else "" for name in peers]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="build folder with fa-run and fa-bench-peaks")
    parser.add_argument("--rounds", type=int, default=3, help="turns of every system on every row")
    parser.add_argument("--quick", action="store_true", help="two lengths instead of five")
    parser.add_argument("--fastest", action="store_true",
                        help="report the fastest run instead of the median (for a machine that others use)")
    parser.add_argument("--only", help="rows whose name, dtype or mask is this")
    parser.add_argument("--openblas", help="shared library of OpenBLAS")
    parser.add_argument("--onednn", help="shared library of oneDNN")
    parser.add_argument("--json", help="write all figures here")
    parser.add_argument("--svg", help="write the plot here")
    parser.add_argument("--markdown", help="write the table here")
    options = parser.parse_args()
    peers = find_peers(options)
    cores = len(os.sched_getaffinity(0))
    peaks_tool = os.path.join(options.build, "bin", "fa-bench-peaks")
    read_peaks = lambda: json.loads(subprocess.run([peaks_tool, str(min(cores, 2))], capture_output=True, text=True,
                                                   check=True).stdout)
    ours = Ours(options.build, os.path.join(options.build, "bench-cache"))
    results = {"cpu": cpu_name(), "cores": cores, "statistic": "fastest" if options.fastest else "median",
               "peers": {peer.name: peer.version for peer in peers}, "peaks": read_peaks(), "rows": []}
    statistic = min if options.fastest else statistics.median
    for row in rows(options.quick):
        if row.threads > cores or options.only not in (None, row.name, row.dtype, row.mask):
            continue
        entry = describe(row, measure(row, [ours, *(peer for peer in peers if peer.takes(row))], options.rounds), results["peaks"], statistic)
        results["rows"].append(entry)
        print(markdown({**results, "rows": [entry]}).splitlines()[-1], flush=True)
    # The limits are measured at both ends of the run; the higher ones count.
    for threads, limits in read_peaks().items():
        for name, value in limits.items():
            results["peaks"][threads][name] = max(results["peaks"][threads][name], value)
    for entry in results["rows"]:
        limit = results["peaks"][str(entry["threads"])]
        rate = entry["gbytes" if entry["limit"] == "read" else "gflops"]["fa"]
        entry["share"] = rate / limit[entry["limit"]]
    results["jit_seconds"], results["cache_hit_seconds"] = ours.compile_seconds(9)
    print(f"\npeaks {json.dumps(results['peaks'])}\njit {results['jit_seconds'] * 1e3:.0f} ms, "
          f"cache hit {results['cache_hit_seconds'] * 1e3:.1f} ms")
    for path, write in ((options.json, lambda: json.dumps(results, indent=1)), (options.svg, lambda: write_svg(results)),
                        (options.markdown, lambda: markdown(results))):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(write())


if __name__ == "__main__":
    main()
