#!/usr/bin/env python3
"""Checks the layers of docs/Architecture.md: who may include and link whom.

Reads every #include of include/fa, lib and tools, and every library that lib/**/CMakeLists.txt links. Prints
`file:line: layer A may not use layer B (allowed: ...)` for each breach and exits with 1; exits with 0 when there is none.

  check-layering.py [--root FOLDER]      the source tree (default: the one this script lies in)
  check-layering.py --print              the rules as a table
"""
import argparse
import pathlib
import re
import sys

# Layer -> layers it may use besides itself and Support. Longest path prefix wins. `*` means: everything listed so far.
RULES = [
    ("Support", []),
    ("Dialect/FA/IR", []),
    ("Dialect/Hopper/IR", []),
    ("Analysis/Models", []),
    ("Analysis", ["Dialect/FA/IR"]),
    ("Dialect/FA/Transforms", ["Dialect/FA/IR", "Analysis", "Analysis/Models"]),
    ("Dialect/Hopper/Transforms", ["Dialect/Hopper/IR", "Analysis/Models"]),
    ("Conversion", ["Dialect/FA/IR", "Dialect/Hopper/IR"]),  # include/fa/Conversion/Passes.h: declarations only
    ("Conversion/FAToLoops", ["Conversion", "Dialect/FA/IR", "Analysis"]),
    ("Conversion/FAToVector", ["Conversion", "Dialect/FA/IR", "Analysis"]),
    ("Conversion/FAToLLVM", ["Conversion", "Dialect/FA/IR", "Analysis"]),
    ("Conversion/FAToHopper", ["Conversion", "Dialect/FA/IR", "Dialect/Hopper/IR", "Analysis"]),
    ("Conversion/HopperToNVVM", ["Conversion", "Dialect/Hopper/IR", "Analysis"]),
    ("Conversion/LinalgToFA", ["Conversion", "Dialect/FA/IR", "Analysis"]),
    ("Target", []),
    ("Pipelines", ["*"]),
    ("Runtime", []),
    ("Runtime/Host", ["Runtime"]),
    ("Runtime/CPU", ["Runtime"]),
    ("Runtime/CUDA", ["Runtime"]),
    ("Runtime/Emulator/Engine", ["Runtime"]),
    ("Runtime/Emulator", ["Runtime", "Runtime/Emulator/Engine"]),
    ("Runtime/EmulatorTool", ["Runtime", "Runtime/Emulator", "Runtime/Emulator/Engine"]),
    ("Runtime/LaunchTool", ["Runtime", "Runtime/Host", "Runtime/CPU", "Runtime/CUDA", "Runtime/Emulator",
                            "Runtime/Emulator/Engine"]),
    ("Runtime/Shim", ["Runtime", "Runtime/Emulator", "Runtime/Emulator/Engine"]),
    ("Reference", []),
    ("Execution", ["*"]),
    ("CAPI", ["Execution"]),
]

# Layers that must build without LLVM: no header and no library of it.
WITHOUT_LLVM = ("Support", "Analysis/Models", "Runtime", "Reference")

# Headers whose folder is not their layer.
SPECIAL_HEADERS = {
    "Analysis/AttentionShape.h": "Analysis/Models",
    "Analysis/MachineModel.h": "Analysis/Models",
    "Analysis/TrafficModel.h": "Analysis/Models",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TABLEGEN_INCLUDE = re.compile(r'^\s*include\s*(")([^"]+)"')
LLVM_HEADER = re.compile(r"^(llvm|llvm-c|mlir|mlir-c)/")


def allowed_layers():
    """Layer -> set of layers it may use."""
    result, earlier = {}, []
    for layer, uses in RULES:
        result[layer] = {layer, "Support"} | (set(earlier) if uses == ["*"] else set(uses))
        earlier.append(layer)
    return result


ALLOWED = allowed_layers()


def layer_of(path):
    """The layer of a path below lib/ or include/fa/, or None if no rule names it."""
    path = str(path)
    if path in SPECIAL_HEADERS:
        return SPECIAL_HEADERS[path]
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        prefix = "/".join(parts[:length])
        if prefix in ALLOWED:
            return prefix
    return None


def without_llvm(layer):
    return any(layer == name or layer.startswith(name + "/") for name in WITHOUT_LLVM)


class Checker:
    def __init__(self, root):
        self.root = root
        self.breaches = []
        self.libraries = {}  # name -> layer

    def breach(self, path, line, text):
        self.breaches.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def check_use(self, path, line, layer, used, what):
        if used not in ALLOWED[layer]:
            allowed = ", ".join(sorted(ALLOWED[layer] - {layer}))
            self.breach(path, line, f"{layer} may not use {used} ({what}; allowed: {allowed})")

    def sources(self):
        """(path, layer) of every source file; a file that no rule names is a breach."""
        for base in ("include/fa", "lib"):
            folder = self.root / base
            for path in sorted(folder.rglob("*")):
                if path.suffix not in (".h", ".cpp", ".c", ".td", ".inc") or not path.is_file():
                    continue
                layer = layer_of(path.relative_to(folder))
                if layer is None:
                    self.breach(path, 1, "no layer has this folder; add it to utils/check-layering.py")
                else:
                    yield path, layer

    def check_includes(self):
        for path, layer in self.sources():
            pattern = TABLEGEN_INCLUDE if path.suffix == ".td" else INCLUDE
            for number, text in enumerate(path.read_text(errors="replace").splitlines(), 1):
                match = pattern.match(text)
                if match:
                    self.check_include(path, number, layer, match.group(2))

    def check_include(self, path, number, layer, header):
        if LLVM_HEADER.match(header):
            if without_llvm(layer):
                self.breach(path, number, f"{layer} may not use LLVM or MLIR (includes {header})")
        elif header.startswith("fa/"):
            used = layer_of(header[len("fa/"):])
            if used is None:
                self.breach(path, number, f"no layer has {header}")
            else:
                self.check_use(path, number, layer, used, f"includes {header}")
        elif ".." in header.split("/"):
            self.breach(path, number, f"expected an include from include/fa or the same folder, but got {header}")

    def calls(self, path):
        """(line, function, arguments) of the library calls in a CMake file."""
        text = re.sub(r"#[^\n]*", "", path.read_text())
        for match in re.finditer(r"\b(fa_library|add_library|target_link_libraries)\s*\(([^)]*)\)", text):
            yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2).split()

    def cmake_files(self):
        folder = self.root / "lib"
        for path in sorted(folder.rglob("CMakeLists.txt")):
            layer = layer_of(path.relative_to(folder))
            if layer is not None:
                yield path, layer

    def check_links(self):
        for path, layer in self.cmake_files():
            for _, function, arguments in self.calls(path):
                if function != "target_link_libraries" and arguments:
                    self.libraries[arguments[0]] = layer
        for path, layer in self.cmake_files():
            for number, function, arguments in self.calls(path):
                self.check_link(path, number, layer, function, arguments)

    def check_link(self, path, number, layer, function, arguments):
        if function == "fa_library":
            linked = arguments[arguments.index("LINK") + 1:] if "LINK" in arguments else []
        elif function == "target_link_libraries":
            linked = arguments[1:]
        else:
            return
        for name in linked:
            if name in ("MLIR", "LLVM") and without_llvm(layer):
                self.breach(path, number, f"{layer} may not use LLVM or MLIR (links {name})")
            elif name in self.libraries:
                self.check_use(path, number, layer, self.libraries[name], f"links {name}")


def print_rules():
    width = max(len(layer) for layer, _ in RULES)
    for layer, uses in RULES:
        text = "all above" if uses == ["*"] else ", ".join(uses) or ("nothing of ours" if layer == "Support" else "Support")
        print(f"{layer:<{width}}  {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--print", action="store_true", dest="print_rules", help="print the rules and exit")
    options = parser.parse_args()
    if options.print_rules:
        print_rules()
        return 0
    if not (options.root / "lib").is_dir():
        print(f"expected a source tree with a folder lib, but got {options.root}", file=sys.stderr)
        return 2
    checker = Checker(options.root.resolve())
    checker.check_includes()
    checker.check_links()
    for breach in checker.breaches:
        print(breach)
    return 1 if checker.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
