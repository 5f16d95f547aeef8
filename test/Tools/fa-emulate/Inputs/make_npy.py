"""make_npy.py FILE DTYPE SHAPE EXPRESSION: writes a .npy file without NumPy; the expression gives element i."""
import math
import struct
import sys

path, dtype, shape, expression = sys.argv[1:]
sizes = tuple(int(x) for x in shape.split("x"))
values = [eval(expression, {"i": i, "math": math}) for i in range(math.prod(sizes))]
code = {"<f4": "f", "<f8": "d", "<i4": "i", "<u2": "H", "<i8": "q"}[dtype]
header = repr({"descr": dtype, "fortran_order": False, "shape": sizes})
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{len(values)}{code}", *values))
