"""Attention on this machine's CPU: our kernels against the machine's limits and against other libraries, in one run.

    python3 bench/cpu/bench.py                      # everything: builds what it needs, about ten minutes
    python3 bench/cpu/bench.py --quick              # two lengths instead of five
    python3 bench/cpu/bench.py --resume             # goes on with the rows that the results file lacks

All times are wall clock. Every system takes its turn in every round, and our kernels take turns of milliseconds with the
machine's limit (fa-bench-attention), so that a change of clock or load meets all of them. A figure is a median; rates count
2 (D + Dv) operations for each visible pair. Results are saved after every group of rows. Peers are used when they are found:
PyTorch (--torch-python), and FlashAttention in blocks of 256 x 512 over the f32 matrix products of OpenBLAS and oneDNN
(--openblas, --onednn: their shared libraries).
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peers import find_peers  # noqa: E402
from plot import write_svg  # noqa: E402
from report import markdown, row_line  # noqa: E402
from rows import groups, requirements  # noqa: E402


class Ours:
    name = "fa"

    def __init__(self, build):
        self.tool = os.path.join(build, "bin", "fa-bench-attention")
        self.cache = os.path.join(build, "bench-cache")

    def call(self, *arguments):
        command = [self.tool, "--json", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def measure(self, rows, turns):
        """One figure for each row: seconds, limit and share, medians of `turns` turns beside the limit."""
        return self.call(f"--rounds={turns}", *[row.text() for row in rows])

    def seconds_alone(self, row):
        """Seconds of a row that repeats undisturbed, as the peers do: what fits in a shared cache is still there."""
        return self.call("--rounds=3", "--turn=200", row.text())[0]["seconds"]

    def compile_seconds(self, count):
        """(compiling, loading from the cache), warm medians in one process, of a causal f32 kernel of depth 64."""
        line = self.call(f"--compiles={count}", f"--cache-dir={self.cache}", "f32 d64 causal n=1024")[0]
        return line["compile_seconds"], line["hit_seconds"]


def measure_group(group, ours, peers, options):
    """The entries of one group of rows."""
    figures = {row: [] for row in group}
    times = {row: {peer.name: [] for peer in peers if peer.takes(row) and row.name != "rate"} for row in group}
    for _ in range(options.rounds):
        for row, figure in zip(group, ours.measure(group, options.turns)):
            figures[row].append(figure)
            if row.name == "decode":
                figure["seconds"] = ours.seconds_alone(row)
        for row in group:
            for peer in peers:
                if peer.name in times[row]:
                    times[row][peer.name] += peer.seconds(row, options.budget)
    return [describe(row, figures[row], times[row]) for row in group]


def describe(row, figures, times):
    """One row as JSON keeps it."""
    median = lambda key: statistics.median(figure[key] for figure in figures)
    seconds = {"fa": median("seconds"), **{name: statistics.median(values) for name, values in times.items()}}
    entry = {"key": row.text(), "label": row.label(), "name": row.name, "dtype": row.dtype, "depth": row.depth, "mask": row.mask,
             "n": row.n, "nk": row.nk, "heads": row.heads, "kv_heads": row.kv_heads, "threads": row.threads,
             "layout": row.layout, "seconds": seconds,
             "gflops": {name: row.operations() / s * 1e-9 for name, s in seconds.items()},
             "limit": figures[0]["limit"], "limit_rate": median("limit_rate"), "share": median("share"),
             "share_quartile": median("share_quartile"),
             "least_share": row.least_share(), "least_dot_share": row.least_dot_share()}
    if row.name == "decode":
        entry["gbytes"] = {name: row.bytes_read() / s * 1e-9 for name, s in seconds.items()}
    if row.dtype == "bf16" and row.name != "decode" and figures[0].get("dot_rate"):
        entry["dot_rate"] = median("dot_rate")
        entry["dot_share"] = entry["gflops"]["fa"] / entry["dot_rate"]
    return entry


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def save(results, options):
    for path, text in ((options.json, json.dumps(results, indent=1)), (options.svg, write_svg(results)),
                       (options.markdown, markdown(results))):
        if path:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            with open(path + ".part", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".part", path)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--no-build", action="store_true", help="do not run ninja first")
    parser.add_argument("--rounds", type=int, default=3, help="turns of every system on every row")
    parser.add_argument("--turns", type=int, default=7, help="turns of our kernels beside the limit in a round")
    parser.add_argument("--budget", type=float, default=0.3, help="seconds of a peer in a round (at least three runs)")
    parser.add_argument("--quick", action="store_true", help="two lengths instead of five")
    parser.add_argument("--no-peers", action="store_true", help="our kernels and the machine's limits only")
    parser.add_argument("--only", action="append", help="rows whose name, dtype, depth (d64) or mask is this; may be repeated")
    parser.add_argument("--resume", action="store_true", help="keep the rows that --json has already")
    parser.add_argument("--openblas", help="shared library of OpenBLAS")
    parser.add_argument("--onednn", help="shared library of oneDNN")
    parser.add_argument("--torch-python", help="interpreter that can import torch (default: this one)")
    parser.add_argument("--json", default="build/bench/cpu.json", help="all figures")
    parser.add_argument("--svg", default="build/bench/cpu.svg", help="the plot")
    parser.add_argument("--markdown", default="build/bench/cpu.md", help="the tables")
    return parser.parse_args()


def wanted(row, only):
    return all(word in (row.name, row.dtype, f"d{row.depth}", row.mask.split("=")[0]) for word in only or [])


def main():
    options = parse()
    if not options.no_build:
        subprocess.run(["ninja", "-C", options.build, "fa-cpu-bench"], check=True)
    ours = Ours(options.build)
    peers = [] if options.no_peers else find_peers(options)
    cores = len(os.sched_getaffinity(0))
    results = {"cpu": cpu_name(), "cores": cores, "peers": {peer.name: peer.version for peer in peers}, "rows": []}
    if options.resume and os.path.exists(options.json):
        with open(options.json, encoding="utf-8") as file:
            results = json.load(file)
    known = {(entry["name"], entry["key"]) for entry in results["rows"]}
    for group in groups(options.quick):
        group = [row for row in group if row.threads <= cores and wanted(row, options.only)]
        if not group or all((row.name, row.text()) in known for row in group):
            continue
        entries = measure_group(group, ours, peers, options)
        results["rows"] += entries
        for entry in entries:
            print(row_line(entry, results["peers"]), flush=True)
        save(results, options)
    if not options.only or "jit" in options.only:
        results["jit_seconds"], results["cache_hit_seconds"] = ours.compile_seconds(15)
    save(results, options)
    lines = requirements(results)
    for what, value, bound, holds in lines:
        print(f"{'pass' if holds else 'MISS'}  {what}: {value}, {bound}")
    return 0 if all(line[3] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
