"""Runs fa-run with the same arguments in every form and prints outputs once if all forms agree.

forms.py [--tile=N] [--forms=A,B] ARGS...
Forms: loops (FlashAttention-2), vector, key_outer (FlashAttention-1), naive. Fails if a run fails its check.
"""
import ast
import math
import os
import struct
import subprocess
import sys
import tempfile

FLAGS = {
    "loops": ["--lowering=loops"],
    "vector": ["--lowering=vector"],
    "key_outer": ["--lowering=loops", "--order=key_outer"],
    "naive": ["--lowering=naive"],
}


def read_npy(path):
    """Shape and values of a float file; 16-bit unsigned words are bf16."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    count = math.prod(header["shape"])
    kind = {"<f8": "d", "<f4": "f", "<f2": "e", "<u2": "H"}[header["descr"]]
    values = struct.unpack_from("<%d%s" % (count, kind), data, 10 + length)
    if kind == "H":
        values = [struct.unpack("<f", struct.pack("<I", value << 16))[0] for value in values]
    return header["shape"], values


def agree(a, b):
    """Equal, or as close as float32 logits of this size allow."""
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=2e-6, abs_tol=1e-6)


def show(name, tensor):
    shape, values = tensor
    numbers = ["nan" if math.isnan(v) else "%.6g" % (v + 0.0) for v in values]
    return ("%s %s: %s" % (name, "x".join(map(str, shape)), " ".join(numbers))).rstrip()


def run(form, tile, arguments, folder):
    outputs = {name: os.path.join(folder, "%s-%s.npy" % (form, name)) for name in ("o", "lse")}
    command = ["fa-run"] + arguments + FLAGS[form]
    command += ["--output=%s=%s" % pair for pair in outputs.items()]
    if form != "naive":
        command.append("--schedule=tile_q=%d,tile_kv=%d" % (tile, tile))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return {name: read_npy(path) for name, path in outputs.items() if os.path.exists(path)}


def main():
    tile, forms, arguments = 4, list(FLAGS), []
    for argument in sys.argv[1:]:
        if argument.startswith("--tile="):
            tile = int(argument[7:])
        elif argument.startswith("--forms="):
            forms = argument[8:].split(",")
        else:
            arguments.append(argument)
    with tempfile.TemporaryDirectory() as folder:
        results = {form: run(form, tile, arguments, folder) for form in forms}
    first = results[forms[0]]
    same = all(
        agree(x, y) for other in results.values() for name in first for x, y in zip(first[name][1], other[name][1], strict=True)
    )
    print("%d forms agree" % len(forms) if same else "forms DIFFER")
    for result in [first] if same else results.values():
        print("\n".join(show(*pair) for pair in result.items()))


main()
