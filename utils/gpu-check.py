#!/usr/bin/env python3
"""Checks the kernels for sm_90a against the reference, measures TFLOP/s, and compares schedule fields one against another.

On a machine with an H100 or H200:   utils/gpu-check.py --fa-run=build/bin/fa-run --json=result.json
Without one, at small sizes:         utils/gpu-check.py --fa-run=build/bin/fa-run --device=emulator --small
Exit status 1 if any check failed.
"""
import argparse
import json
import subprocess
import sys

CHECKS = [
    dict(dtype="bf16", depth=128, seq_q=200, seq_kv=300, causal="bottom_right"),
    dict(dtype="f16", depth=64, seq_q=257, seq_kv=63),
    dict(dtype="bf16", depth=96, seq_q=127, seq_kv=333, causal="bottom_right"),
    dict(dtype="bf16", depth=256, seq_q=65, seq_kv=257),
    dict(dtype="bf16", depth=192, depth_v=128, seq_q=129, seq_kv=200, causal="bottom_right"),
    dict(dtype="bf16", depth=64, seq_q=300, seq_kv=333, window="100,20,bottom_right"),
    dict(dtype="f16", depth=128, seq_q=150, seq_kv=190, heads=4, kv_heads=2, alibi="bottom_right", causal="bottom_right"),
    dict(dtype="bf16", depth=64, seq_q=150, seq_kv=150, softcap=5),
]
FIELDS = dict(stages=2, warpgroups=2, overlap="true", ping_pong="true", persistent="false")
VARIANTS = {
    "default": {},
    "no overlap": dict(overlap="false"),
    "no ping-pong": dict(ping_pong="false"),
    "persistent": dict(persistent="true"),
    "one stage more, 64 keys": dict(stages=3, tile_kv=64),
}


def run(options, flags):
    """One call of fa-run; its JSON report, or the error text."""
    command = [options.fa_run, f"--device={options.device}", "--format=json"]
    command += [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    try:
        return json.loads(done.stdout), done.returncode
    except json.JSONDecodeError:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no output"}, 1


def schedule(variant, tile_q=128):
    fields = dict(FIELDS, **{k: v for k, v in variant.items() if k != "tile_kv"})
    inner = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return f"#fa.schedule<tile_q = {tile_q}, tile_kv = {variant.get('tile_kv', 128)}, target = #fa.hopper<{inner}>>"


def flops(flags):
    """4 N^2 D H B for the forward; half of it where causal (as the published numbers count)."""
    seq, depth = flags["seq"], flags["depth"]
    total = 4 * seq * seq * depth * flags["heads"] * flags["batch"]
    return total / 2 if "causal" in flags else total


def find(report, *names):
    """The first of `names` anywhere in a nested report."""
    if isinstance(report, dict):
        for name in names:
            if name in report:
                return report[name]
        report = list(report.values())
    if isinstance(report, list):
        for value in report:
            found = find(value, *names)
            if found is not None:
                return found
    return None


def check(options, results):
    failed = 0
    for flags in CHECKS:
        report, status = run(options, flags)
        failed += status != 0
        results["checks"].append(dict(flags=flags, passed=status == 0, error=report.get("error")))
        print("ok  " if status == 0 else "FAIL", " ".join(f"{k}={v}" for k, v in flags.items()), report.get("error") or "")
    return failed


def measure(options, results):
    lengths = [256] if options.small else [1024, 4096, 16384]
    for depth in (64, 128, 256):
        for causal in ({}, dict(causal="bottom_right")):
            for seq in lengths:
                heads = 1 if options.small else max(1, 2048 // depth)
                batch = 1 if options.small else max(1, 16384 // seq)
                flags = dict(dtype="bf16", depth=depth, seq=seq, heads=heads, batch=batch, **causal)
                timed(options, results, "table", f"d{depth} {'causal' if causal else 'full'} {seq}", flags)
    seq = lengths[-1]
    for name, variant in VARIANTS.items():
        flags = dict(dtype="bf16", depth=128, seq=seq, heads=1 if options.small else 16, batch=1, causal="bottom_right",
                     schedule=schedule(variant))
        timed(options, results, "schedules", name, flags)


def timed(options, results, group, name, flags):
    report, status = run(options, dict(flags, repeat=1 if options.small else 10, check_rows=16))
    seconds = find(report, "seconds", "run_seconds", "median_seconds")
    rate = flops(flags) / seconds / 1e12 if seconds else None
    results[group].append(dict(name=name, flags=flags, passed=status == 0, seconds=seconds, tflops=rate,
                               error=report.get("error")))
    print(f"{name:28} {'-' if rate is None else f'{rate:8.2f} TFLOP/s'} {'' if status == 0 else 'FAIL ' + str(report.get('error'))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fa-run", required=True, help="path of fa-run")
    parser.add_argument("--device", default="cuda", choices=["cuda", "emulator"])
    parser.add_argument("--small", action="store_true", help="sizes for the emulator")
    parser.add_argument("--checks-only", action="store_true", help="no measurements")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one call")
    options = parser.parse_args()
    results = dict(device=options.device, checks=[], table=[], schedules=[])
    failed = check(options, results)
    if not options.checks_only:
        measure(options, results)
        failed += sum(not entry["passed"] for entry in results["table"] + results["schedules"])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    print("all passed" if failed == 0 else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
