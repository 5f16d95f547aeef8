#!/usr/bin/env bash
# One command from a fresh Debian 12 to a result.
#   utils/bootstrap.sh run      install what is missing, build, and run the main job: Llama-3-8B prefill attention,
#                               JIT-compiled for this CPU and checked against the float64 reference
#   utils/bootstrap.sh check    install what is missing, build everything, and run all tests
#   utils/bootstrap.sh build    install what is missing and build
# Environment: BUILD_DIR (default: build), JOBS (default: all cores).
set -euo pipefail
cd "$(dirname "$0")/.."
build_dir=${BUILD_DIR:-build}
jobs=${JOBS:-$(nproc)}

usage() { sed -n '2,7p' "$0" | sed 's/^# \{0,1\}//'; }

packages=(clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools cmake ninja-build g++ libgtest-dev
  nlohmann-json3-dev libcli11-dev zlib1g-dev libzstd-dev libedit-dev libcurl4-openssl-dev python3 git)

install_missing() {
  local missing=() sudo=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  echo "installing: ${missing[*]}"
  if (($(id -u))); then sudo=(sudo); fi
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# NumPy is only needed by the Python package and its tests, which are skipped without it.
install_numpy() {
  python3 -c 'import numpy' 2>/dev/null && return 0
  python3 -m pip install --quiet numpy 2>/dev/null && return 0
  if (($(id -u) == 0)); then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-numpy >/dev/null 2>&1 && return 0
  fi
  echo "note: NumPy could not be installed; the tests of the Python package will be skipped"
}

configure() {
  local log
  log=$(mktemp)
  cmake --preset release -B "$build_dir" >"$log" 2>&1 || { cat "$log"; return 1; }
  rm -f "$log"
}

case "${1:-}" in
run)
  install_missing
  configure
  cmake --build "$build_dir" --parallel "$jobs" --target fa-run
  set -x
  "$build_dir/bin/fa-run" --heads=32 --kv-heads=8 --seq-q=1024 --seq-kv=1024 --depth=128 --dtype=bf16 --causal=bottom_right
  ;;
check)
  install_missing
  install_numpy
  configure
  cmake --build "$build_dir" --parallel "$jobs"
  cmake --build "$build_dir" --target check
  ;;
build)
  install_missing
  configure
  cmake --build "$build_dir" --parallel "$jobs"
  ;;
-h | --help)
  usage
  ;;
*)
  usage >&2
  exit 2
  ;;
esac
