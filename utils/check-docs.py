#!/usr/bin/env python3
"""Runs the examples of Markdown files and compares what they print.

usage: check-docs.py FILE.md... [--update]

A fenced block marked `console` holds commands, each after `$ `, and what they print. Numbers are compared by place, not by
value (times vary from run to run); a line `...` stands for any lines. `cat FILE` and our tools are found from the
repository's root. A command must exit with 0, or with the code N that a following line `[exit N]` names. With --update the
output in the file is replaced by what the commands print (blocks with `...` are left alone).
"""
import os
import re
import subprocess
import sys
import tempfile

NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?")
UNIT = re.compile(r"# (ns|us|ms|s|min|B|KiB|MiB|GiB)\b")
SPACES = re.compile(r"[ \t─━-]+")


def normalise(line: str) -> str:
    return SPACES.sub(" ", UNIT.sub("# unit", NUMBER.sub("#", line))).strip()


def matches(expected: list, actual: list) -> bool:
    """Lines equal up to numbers; `...` stands for any lines."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[n:]) for n in range(len(actual) + 1))
    return bool(actual) and normalise(expected[0]) == normalise(actual[0]) and matches(expected[1:], actual[1:])


def run(command: str, root: str):
    # An empty kernel cache, so that what is printed does not depend on what ran before.
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, XDG_CACHE_HOME=cache)
        done = subprocess.run(command, shell=True, cwd=root, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


def split_commands(block: list):
    """[(command, expected lines)] of one block; a command goes on after a trailing backslash."""
    commands = []
    for line in block:
        if line.startswith("$ "):
            commands.append([line[2:], []])
        elif commands and commands[-1][0].endswith("\\") and not commands[-1][1]:
            commands[-1][0] = commands[-1][0][:-1] + " " + line.strip()
        elif commands:
            commands[-1][1].append(line)
    return commands


def check_block(path: str, number: int, block: list, root: str) -> list:
    errors = []
    for command, expected in split_commands(block):
        code = 0
        if expected and re.fullmatch(r"\[exit \d+\]", expected[-1]):
            code = int(expected.pop()[6:-1])
        actual_code, actual = run(command, root)
        if actual_code != code:
            errors.append(f"{path}:{number}: `{command}` exited with {actual_code}, expected {code}:\n" + "\n".join(actual))
        elif not matches([line for line in expected if line.strip()], [line for line in actual if line.strip()]):
            errors.append(f"{path}:{number}: `{command}` printed:\n" + "\n".join(actual))
    return errors


def updated_block(block: list, root: str) -> list:
    lines = []
    for command, expected in split_commands(block):
        code, actual = run(command, root)
        shown = expected if any(line.strip() == "..." for line in expected) else actual + ([f"[exit {code}]"] if code else [])
        lines += [f"$ {command}"] + shown
    return lines


def main() -> int:
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    update = "--update" in sys.argv
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    errors, blocks = [], 0
    for path in paths:
        with open(path) as file:
            lines = file.read().split("\n")
        result, n = [], 0
        while n < len(lines):
            result.append(lines[n])
            n += 1
            if lines[n - 1].strip() != "```console":
                continue
            end = n + lines[n:].index("```")
            blocks += 1
            if update:
                result += updated_block(lines[n:end], root)
            else:
                errors += check_block(path, n + 1, lines[n:end], root)
                result += lines[n:end]
            n = end
        if update:
            with open(path, "w") as file:
                file.write("\n".join(result))
    for error in errors:
        print(error, file=sys.stderr)
    print(f"{blocks} blocks, {len(errors)} failures")
    return 1 if errors or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
