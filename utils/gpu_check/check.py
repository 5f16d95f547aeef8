"""The GPU machine's half: executes all packages, most important first, within a budget of time."""
import concurrent.futures
import json
import os
import pathlib
import platform
import sys

from . import peers, report
from .launch import Launcher


class Run:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.folder)
        self.manifest = json.loads((self.folder / "manifest.json").read_text())
        self.launcher = Launcher(self.folder, options)
        self.results = dict(device=options.device, machine=platform.platform(), budget_s=options.budget, checks=[], table=[],
                            variants=[], peers=[], notes=[report.SMALL if self.manifest["small"] else report.CONVENTION])

    def save(self):
        """After every case: what was measured survives whatever comes next."""
        if not self.options.json:
            return
        temporary = self.options.json + ".part"
        with open(temporary, "w") as file:
            json.dump(self.results, file, indent=1)
        os.replace(temporary, self.options.json)

    def check(self, entry):
        if "refused" in entry:
            return dict(name=entry["name"], what=entry["what"], passed=False, skipped=False, checks=[],
                        error="refused when prepared: " + entry["refused"])
        flags = ["--seed=%d" % entry["seed"], "--repeat=%d" % self.options.schedules]
        flags += ["--shape=%s=%s" % (name, "x".join(map(str, sizes))) for name, sizes in entry["shapes"].items()]
        flags += ["--expect=%s=%s,max=%r,rms=%r" % (e["tensor"], self.folder / e["file"], e["max"], e["rms"])
                  for e in entry["expect"]]
        answer = self.launcher.run(entry["package"], flags)
        if answer.get("device"):
            self.results["device_name"] = answer["device"]
        return dict(name=entry["name"], what=entry["what"], passed=answer["passed"], skipped=answer.get("skipped", False),
                    error=answer.get("error"), form=answer.get("form"), checks=answer.get("checks", []))

    def all_checks(self):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for result in pool.map(self.check, self.manifest["checks"]):
                self.results["checks"].append(result)
                self.save()
                if not result["passed"]:
                    print(report.check_line(result), flush=True)

    def measure(self, group):
        for entry in self.manifest["benchmarks"]:
            if entry["group"] != group:
                continue
            if "refused" in entry:
                answer = dict(passed=False, unavailable=True, error=entry["refused"])
            else:
                # Uniform inputs: filling 64 MB with normal ones would take longer than what is measured.
                fills = ["--fill=%s=uniform:-1,1" % name for name in "qkv"]
                answer = self.launcher.run(entry["package"], fills + self.repetitions())
            result = {key: entry[key] for key in ("name", "depth", "causal", "length", "batch", "heads", "flops")}
            result.update(variant=entry.get("variant"), schedule=entry.get("schedule"), error=answer.get("error"),
                          unavailable=answer.get("unavailable", False), skipped=answer.get("skipped", False))
            if "seconds" in answer:
                result.update(seconds=answer["seconds"], median_s=answer["median"], tflops=entry["flops"] / answer["median"] / 1e12)
            self.results[group].append(result)
            self.save()
            print(report.measured_line(result), flush=True)

    def repetitions(self):
        if self.options.device == "emulator":
            return ["--repeat=1", "--no-checks"]
        return ["--warm-up=%d" % self.options.warm_up, "--repeat=%d" % self.options.repeat]

    def compare_with(self, name):
        shapes = [entry for entry in self.manifest["benchmarks"] if entry["group"] == "table"]
        for line in peers.measure(name, shapes, self.options, self.launcher.clock):
            self.results["peers"].append(line)
            self.save()
            if line.get("error"):
                print("%s: %s" % (name, line["error"]), flush=True)

    def all(self):
        self.all_checks()
        if not self.options.checks_only:
            self.measure("table")
            if self.options.device == "cuda" and not self.options.no_peers:
                self.compare_with("cudnn")
                self.compare_with("flash")
            self.measure("variants")
            if self.options.device == "cuda" and not self.options.no_peers:
                self.compare_with("flex")
        self.save()


def main(options):
    if not (pathlib.Path(options.folder) / "manifest.json").exists():
        print("gpu-check: expected a folder that `gpu-check.py prepare` made, but got %s" % options.folder, file=sys.stderr)
        return 2
    run = Run(options)
    run.all()
    print(report.tables(run.results))
    failed = report.failures(run.results)
    print("all passed" if not failed else "%d failed" % failed)
    return 1 if failed else 0
