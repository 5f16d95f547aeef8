"""One package for every length, made for several CPUs, executed by the launcher and compared with the float64 reference.

usage: packages.py FOLDER SOURCE.mlir CPU...
"""
import subprocess
import sys

LENGTHS = [(1, 65, 130), (2, 1, 333), (1, 257, 257), (3, 40, 7)]
BARS = {"o": "max=4e-6,rms=4e-7", "lse": "max=4e-6,rms=2e-6"}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    folder, source, cpus = sys.argv[1], sys.argv[2], sys.argv[3:]
    problems = []
    for batch, queries, keys in LENGTHS:
        shapes = [f"--shape=q={batch}x4x{queries}x64", f"--shape=k={batch}x2x{keys}x64", "--seed=3"]
        files = {name: f"{folder}/{batch}-{queries}-{keys}-{name}.npy" for name in BARS}
        run("fa-run", source, "--device=cpu", *shapes, *(f"--reference={name}={file}" for name, file in files.items()))
        problems.append((f"{batch} x {queries} x {keys}", shapes, files))
    for cpu in cpus:
        package = f"{folder}/{cpu}.fa"
        run("fa-compile", source, "--target=cpu", f"--cpu={cpu}", "--emit=package", "-o", package)
        for name, shapes, files in problems:
            for threads in (1, 2):
                text = run("fa-launch", package, "--device=cpu", *shapes, f"--threads={threads}", "--repeat=2",
                           *(f"--expect={output}={files[output]},{bars}" for output, bars in BARS.items()))
                print(cpu, name, threads, text.count(" passed: max error"), "passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
