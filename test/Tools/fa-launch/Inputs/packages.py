"""One package for every length, made for several CPUs, executed by the launcher and compared with the float64 reference.

usage: packages.py FOLDER SOURCE.mlir DTYPE LOWERING CPU...

SOURCE is in f32; its tensors, except for the LSE (f64 for f64), are made DTYPE.
"""
import os
import subprocess
import sys

LENGTHS = [(1, 65, 130), (2, 1, 333), (1, 257, 257), (3, 40, 7)]
# What the verdict of fa-run allows on these problems, rounded up.
BARS = {
    "f64": {"o": "max=1e-14,rms=1e-15", "lse": "max=1e-14,rms=4e-15"},
    "f32": {"o": "max=4e-6,rms=4e-7", "lse": "max=4e-6,rms=2e-6"},
    "f16": {"o": "max=2e-3,rms=2e-4", "lse": "max=2e-3,rms=5e-4"},
    "bf16": {"o": "max=2e-2,rms=2e-3", "lse": "max=8e-3,rms=2e-3"},
}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def source_in(dtype, source, folder):
    """The source with other element types."""
    with open(source) as file:
        text = file.read()
    lse = "f64" if dtype == "f64" else "f32"
    text = text.replace("x64xf32>", f"x64x{dtype}>").replace("memref<?x4x?xf32>", f"memref<?x4x?x{lse}>")
    path = os.path.join(folder, f"{dtype}.mlir")
    with open(path, "w") as file:
        file.write(text)
    return path


def main() -> int:
    folder, source, dtype, lowering, cpus = *sys.argv[1:5], sys.argv[5:]
    bars = BARS[dtype]
    source = source_in(dtype, source, folder)
    problems = []
    for batch, queries, keys in LENGTHS:
        shapes = [f"--shape=q={batch}x4x{queries}x64", f"--shape=k={batch}x2x{keys}x64", "--seed=3"]
        files = {name: f"{folder}/{dtype}-{batch}-{queries}-{keys}-{name}.npy" for name in bars}
        run("fa-run", source, "--device=cpu", *shapes, *(f"--reference={name}={file}" for name, file in files.items()))
        problems.append((f"{batch} x {queries} x {keys}", shapes, files))
    for cpu in cpus:
        package = f"{folder}/{cpu}.fa"
        run("fa-compile", source, "--target=cpu", f"--cpu={cpu}", f"--lowering={lowering}", "--emit=package", "-o", package)
        for name, shapes, files in problems:
            for threads in (1, 2):
                text = run("fa-launch", package, "--device=cpu", *shapes, f"--threads={threads}", "--repeat=2",
                           *(f"--expect={output}={files[output]},{bar}" for output, bar in bars.items()))
                print(cpu, name, threads, text.count(" passed: max error"), "passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
