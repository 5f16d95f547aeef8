#!/usr/bin/env python3
"""Runs lit and ends with the line `N passed, N failed` that people and CI read.

usage: run-lit.py LIT [lit arguments...]

Exit code: lit's own. Unsupported tests (a tool that is not installed) are counted apart.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    lit, arguments = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        code = subprocess.call([lit, "--output", results, *arguments])
        if not os.path.exists(results):
            print("0 passed, 1 failed (lit did not finish)")
            return code or 1
        with open(results) as file:
            tests = json.load(file)["tests"]
    counts = collections.Counter(test["code"] for test in tests)
    passed = counts.pop("PASS", 0) + counts.pop("XFAIL", 0) + counts.pop("FLAKYPASS", 0)
    skipped = {name: counts.pop(name) for name in ("UNSUPPORTED", "EXCLUDED", "SKIPPED") if name in counts}
    failed = sum(counts.values())
    for name, count in skipped.items():
        print(f"{count} {name.lower()}")
    print(f"{passed} passed, {failed} failed")
    return code if tests else 1


if __name__ == "__main__":
    sys.exit(main())
