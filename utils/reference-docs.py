#!/usr/bin/env python3
"""Writes the dialect and pass references of docs/ from tblgen, or checks that they are fresh.

usage: reference-docs.py [--update]

Without --update: exit code 1 and the names of stale files.
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# (what tblgen reads, how, where it goes)
REFERENCES = [
    ("include/fa/Dialect/FA/IR/FAOps.td", ["-gen-dialect-doc", "-dialect=fa"], "docs/Dialects/FA/Reference.md"),
    ("include/fa/Dialect/Hopper/IR/HopperOps.td", ["-gen-dialect-doc", "-dialect=hopper"], "docs/Dialects/Hopper/Reference.md"),
    ("include/fa/Dialect/FA/Transforms/Passes.td", ["-gen-pass-doc"], "docs/Passes/FATransforms.md"),
    ("include/fa/Dialect/Hopper/Transforms/Passes.td", ["-gen-pass-doc"], "docs/Passes/HopperTransforms.md"),
    ("include/fa/Conversion/Passes.td", ["-gen-pass-doc"], "docs/Passes/Conversion.md"),
]


def llvm_include() -> str:
    for name in ("llvm-config-22", "/usr/lib/llvm-22/bin/llvm-config", "llvm-config"):
        if shutil.which(name):
            return subprocess.check_output([name, "--includedir"], text=True).strip()
    return "/usr/lib/llvm-22/include"


def generate(source: str, flags: list) -> str:
    tblgen = shutil.which("mlir-tblgen") or "/usr/lib/llvm-22/bin/mlir-tblgen"
    command = [tblgen, os.path.join(ROOT, source), *flags, "-I", os.path.join(ROOT, "include"), "-I", llvm_include()]
    text = subprocess.check_output(command, text=True)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def main() -> int:
    stale = []
    for source, flags, target in REFERENCES:
        if not os.path.exists(os.path.join(ROOT, source)):
            continue
        path = os.path.join(ROOT, target)
        text = generate(source, flags)
        if os.path.exists(path) and open(path).read() == text:
            continue
        stale.append(target)
        if "--update" in sys.argv:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
    for target in stale:
        print(f"{'wrote' if '--update' in sys.argv else 'stale'}: {target}")
    if stale and "--update" not in sys.argv:
        print("run utils/update-docs.sh", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
