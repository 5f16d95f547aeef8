"""The build machine's half: packages and expected results in one folder that needs nothing else."""
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys

from . import matrix

ATTENTION = """// {name}
func.func @attention(%q: {type}, %k: {type}, %v: {type}, %o: {type}, %lse: {rows}) {{
  fa.attention ins(%q, %k, %v : {type}, {type}, {type}) outs(%o, %lse : {type}, {rows}){masks}
  return
}}
"""


class Refused(Exception):
    """The compiler said no; the message is its own."""


def call(command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Refused(lines[0] if lines else "exit code %d" % done.returncode)
    return done.stdout


class Preparation:
    def __init__(self, options):
        self.options = options
        self.out = pathlib.Path(options.out)
        self.tools = pathlib.Path(options.build) / "bin"

    def compile(self, source, package, schedule):
        path = self.out / "source" / (package + ".mlir")
        path.write_text(source)
        command = [self.tools / "fa-compile", path, "--emit=package", "-o", self.out / "packages" / package]
        if schedule:
            command.append("--schedule=" + schedule)
        if self.options.ptx_only:
            command.append("--ptxas=none")
        call(command)

    def check(self, case):
        """Reference and bars from fa-run, whose CPU code proves them on the way; then the package."""
        entry = dict(name=case["name"], what=matrix.describe(case), package=case["name"], seed=case["seed"])
        files = {name: "expected/%s.%s.npy" % (case["name"], name) for name in ("o", "lse")}
        try:
            report = json.loads(call([
                self.tools / "fa-run", "--device=cpu", "--lowering=loops", "--no-cache", "--format=json", "--dump-ir=source",
                *matrix.check_flags(case), *("--reference=%s=%s" % (name, self.out / file) for name, file in files.items())]))
            self.compile(report["ir"]["source"], case["name"], matrix.check_schedule(case))
        except Refused as refusal:
            return dict(entry, refused=str(refusal))
        bars = dict(o=report["check"]["output"], lse=report["check"]["lse"])
        entry["expect"] = [dict(tensor=name, file=file, max=bars[name]["max_bar"], rms=bars[name]["rms_bar"])
                           for name, file in files.items()]
        inputs = [name for name in report["shapes"] if name not in files]
        entry["shapes"] = {name: report["shapes"][name] for name in inputs} if case["lengths_are"] == "open" else {}
        return entry

    def benchmark(self, entry):
        shape = "%dx%dx%d" % (entry["batch"], entry["heads"], entry["length"])
        source = ATTENTION.format(name=entry["name"], type="memref<%sx%dx%s>" % (shape, entry["depth"], entry["dtype"]),
                                  rows="memref<%sxf32>" % shape,
                                  masks=" masks [#fa.causal<bottom_right>]" if entry["causal"] else "")
        try:
            self.compile(source, entry["package"], entry.get("schedule"))
        except Refused as refusal:
            return dict(entry, refused=str(refusal))
        return entry

    def run(self):
        for folder in ("source", "packages", "expected", "bin"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)
        here = pathlib.Path(__file__).resolve().parent
        shutil.copy(str(self.tools / "fa-launch"), str(self.out / "bin" / "fa-launch"))
        shutil.copy(str(here.parent / "gpu-check.py"), str(self.out / "gpu-check.py"))
        shutil.copytree(str(here), str(self.out / "gpu_check"), ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            checks = list(pool.map(self.check, matrix.checks(self.options.seed, self.options.checks)))
            benchmarks = [] if self.options.checks_only else list(
                pool.map(self.benchmark, matrix.benchmarks(self.options.small)))
        manifest = dict(version=1, seed=self.options.seed, small=self.options.small, checks=checks, benchmarks=benchmarks)
        (self.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
        return manifest


def main(options):
    out = pathlib.Path(options.out)
    if out.exists():
        if not (out / "manifest.json").exists() and any(out.iterdir()):
            print("gpu-check: expected --out to be empty or made by this command, but got %s" % out, file=sys.stderr)
            return 2
        shutil.rmtree(str(out))
    manifest = Preparation(options).run()
    refused = [entry for entry in manifest["checks"] + manifest["benchmarks"] if "refused" in entry]
    for entry in refused:
        print("refused: %s: %s" % (entry.get("what", entry["name"]), entry["refused"]))
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print("%d checks, %d benchmarks, %d refused, %.1f MB in %s" % (
        len(manifest["checks"]), len(manifest["benchmarks"]), len(refused), size / 1e6, out))
    # A variant may be one that this compiler does not have; a check and a line of the table may not.
    return 1 if any(entry.get("group") != "variants" for entry in refused) else 0
