"""check_npy.py FILE EXPRESSION: every element i of the file equals the expression."""
import ast
import math
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
size = struct.unpack("<H", data[8:10])[0]
header = ast.literal_eval(data[10 : 10 + size].decode())
code = {"<f4": "f", "<i4": "i", "<u2": "H"}[header["descr"]]
count = math.prod(header["shape"])
for i, value in enumerate(struct.unpack(f"<{count}{code}", data[10 + size :])):
    expected = eval(sys.argv[2], {"i": i, "math": math})
    if value != expected:
        sys.exit(f"element {i}: expected {expected}, but got {value}")
print(f"{count} elements {header['shape']} are right")
