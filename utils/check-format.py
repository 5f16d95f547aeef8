#!/usr/bin/env python3
"""Whether every C++ file of the source tree, or of some of its folders, is as clang-format 22 writes it.

usage: check-format.py [--fix] [--root FOLDER] [--clang-format PROGRAM] [FOLDER...]

Prints the files that differ; --fix rewrites them. Inputs of tests are left alone. Exit code 1 where something differs.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys

FOLDERS = ("bench", "include", "lib", "test", "tools")


def sources(root, chosen):
    for folder in chosen:
        for path, folders, files in os.walk(os.path.join(root, folder)):
            folders[:] = [name for name in folders if name != "Inputs"]
            yield from (os.path.join(path, name) for name in files if name.endswith((".cpp", ".h", ".c")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--clang-format", default="clang-format-22")
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    options = parser.parse_args()

    def differs(path):
        before = open(path).read()
        after = subprocess.run([options.clang_format, path], capture_output=True, text=True, check=True).stdout
        if before != after and options.fix:
            with open(path, "w") as file:
                file.write(after)
        return before != after

    paths = sorted(sources(options.root, options.folders))
    if not paths:
        print(f"expected C++ files below {options.root}, but found none", file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor() as pool:
        bad = [path for path, different in zip(paths, pool.map(differs, paths)) if different]
    for path in bad:
        print(f"{os.path.relpath(path, options.root)}: {'rewritten' if options.fix else 'not formatted'}")
    if bad and not options.fix:
        print("run utils/check-format.py --fix", file=sys.stderr)
    return 1 if bad and not options.fix else 0


if __name__ == "__main__":
    sys.exit(main())
