#!/usr/bin/env python3
"""Checks the kernels for sm_90a on a GPU against the float64 reference and measures them, in two commands.

On a machine with the compiler (build/bin has fa-run, fa-compile, fa-launch):
    utils/gpu-check.py prepare --out=gpu-check
On a machine with an H100 or H200, a driver and Python, after copying the folder:
    python3 gpu-check/gpu-check.py run --json=result.json
Without a GPU, at small sizes:
    utils/gpu-check.py prepare --out=gpu-check --small && python3 gpu-check/gpu-check.py run --device=emulator

`prepare` compiles a pairwise matrix of problems and schedules, and the benchmarks; it stores packages, expected results and
their bars. `run` executes them by fa-launch: checks first, then the table, what PyTorch offers where it can be imported,
and schedule fields one against another. Each case has a process and a time limit of its own; --json is rewritten after
every case. Exit code 1 if anything failed.
"""
import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from gpu_check import check, prepare  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="prepare|run")
    commands.required = True
    first = commands.add_parser("prepare", help="make the folder, on a machine with the compiler")
    first.add_argument("--out", required=True, help="folder to make (an older one of ours is replaced)")
    first.add_argument("--build", default=str(HERE.parent / "build"), help="build folder (default: %(default)s)")
    first.add_argument("--small", action="store_true", help="benchmarks at sizes for the emulator")
    first.add_argument("--ptx-only", action="store_true", help="no cubins: the driver compiles PTX when it loads it")
    first.add_argument("--seed", type=int, default=20, help="of the matrix and of the inputs (default: %(default)s)")
    first.add_argument("--checks", type=int, help="only the first N cases of the matrix")
    second = commands.add_parser("run", help="check and measure, on a machine with a GPU")
    second.add_argument("--folder", default=str(HERE), help="what `prepare` made (default: where this script lies)")
    second.add_argument("--device", default="cuda", choices=["cuda", "emulator"])
    second.add_argument("--json", help="file for the results, rewritten after every case")
    second.add_argument("--budget", type=float, default=460, help="seconds for everything (default: %(default)s)")
    second.add_argument("--timeout", type=float, default=40, help="seconds for one case (default: %(default)s)")
    second.add_argument("--peer-timeout", type=float, default=90, help="seconds for one PyTorch backend (default: %(default)s)")
    second.add_argument("--no-peers", action="store_true", help="do not look for PyTorch")
    second.add_argument("--repeat", type=int, default=20, help="timed launches of a benchmark (default: %(default)s)")
    second.add_argument("--warm-up", type=int, default=5, help="launches before them (default: %(default)s)")
    second.add_argument("--schedules", type=int, default=1,
                        help="launches of a check; on the emulator each under another schedule of warps (default: %(default)s)")
    for command in (first, second):
        command.add_argument("--checks-only", action="store_true", help="no benchmarks")
        command.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1),
                             help="processes at a time for checks and compilation (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    parsed = parse()
    sys.exit((prepare if parsed.command == "prepare" else check).main(parsed))
