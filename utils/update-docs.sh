#!/usr/bin/env bash
# Regenerates the references that come from tblgen, and the outputs of the examples in the documents.
#   utils/update-docs.sh            references only
#   utils/update-docs.sh examples   references, then re-run every example and store what it prints
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/build/bin:/usr/lib/llvm-22/bin:$PATH"
python3 utils/reference-docs.py --update
if [ "${1:-}" = examples ]; then
  python3 utils/check-docs.py --update README.md docs/*.md
fi
