"""Sixteen processes of fa-run on one cold kernel cache; one of them dies in the middle of writing its entry.

usage: cold_cache.py FA-RUN CACHE

The victim may write files of 16 KiB at most: the kernel kills it (SIGXFSZ) when it has written that much of an entry,
which is several times larger. Its problem is its own, so that it always has something to write; all others compete for one
entry. They must compute, check and pass, and what is left must serve the next process and the victim's second life.
"""
import os
import resource
import signal
import subprocess
import sys

PROCESSES, LIMIT = 16, 16 << 10


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(fa_run, cache, seq, **options):
    command = [fa_run, f"--seq={seq}", "--causal=bottom_right", "--device=cpu", "--threads=1", f"--cache-dir={cache}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def main() -> int:
    fa_run, cache = sys.argv[1:]
    victim = start(fa_run, cache, 34, preexec_fn=limit_files)
    others = [start(fa_run, cache, 33) for _ in range(PROCESSES - 1)]
    victim.communicate()
    print("victim:", "killed while writing" if victim.returncode == -signal.SIGXFSZ else f"exit {victim.returncode}")
    bad = 0
    for process in others:
        text = process.communicate()[0]
        if process.returncode != 0 or "check     passed" not in text:
            bad += 1
            print(f"exit {process.returncode}:\n{text}")
    print("others:", PROCESSES - 1 - bad, "passed,", bad, "failed")
    remains = [name for name in os.listdir(cache) if name.endswith(".tmp")]
    for name in remains:
        size = os.path.getsize(os.path.join(cache, name))
        print("remains:", "of the victim" if name.startswith(f"{victim.pid}-") else name, "of", size, "bytes")
    entries = [name for name in os.listdir(cache) if name.endswith(".kernel")]
    print("entries:", len(entries), "larger than the limit" if all(
        os.path.getsize(os.path.join(cache, name)) > LIMIT for name in entries) else "too small to test anything")
    for seq in (33, 34, 34):
        lines = start(fa_run, cache, seq).communicate()[0].splitlines()
        print("after:", seq, next((line for line in lines if "kernel cache" in line), "no line"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
