#!/bin/bash
# Compiles the emulator's CUDA C++ fixtures to the .ptx files that are checked in beside them. Needs nvcc (sm_90a) and a
# clang with the NVPTX target; tests and CI need neither.
#   utils/regenerate-ptx-fixtures.sh [--check]     --check: only tell whether the files are up to date
set -euo pipefail
cd "$(dirname "$0")/../test/Unit/Runtime/Emulator/Fixtures"
nvcc=${NVCC:-nvcc}
clang=${CLANG:-clang++-22}
out=.
if [[ "${1:-}" == --check ]]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi

for kernel in VectorAdd TwoProducts MmaProduct Cluster Attention Softmax; do
  "$nvcc" -arch=sm_90a -ptx -O3 "$kernel.cu" -o "$out/$kernel.ptx"
done
"$nvcc" -arch=sm_90a -ptx -O3 -fmad=false ScalarFunctions.cu -o "$out/ScalarFunctions.nvcc.ptx"
"$clang" --target=nvptx64-nvidia-cuda -x c++ -O3 -S -ffp-contract=off -Xclang -target-cpu -Xclang sm_90 \
  ScalarFunctions.cu -o "$out/ScalarFunctions.llvm.ptx"

if [[ "$out" != . ]]; then
  for file in "$out"/*.ptx; do
    diff -q "$file" "$(basename "$file")"
  done
fi
