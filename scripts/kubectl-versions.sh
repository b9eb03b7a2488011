#!/usr/bin/env bash
# Every verb of kubectl on every kind, with each version of kubectl that is found beside the one on the
# PATH: half a minute a version. The ordinary tests do this with one version. The versions that few
# machines have are built from their modules into the cache, some five minutes of processor time each.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/gitplane/bin

# build MINOR PATCH REQUIREMENTS: one kubectl, unless it is there.
build() {
  local program=$cache/kubectl.1.$1 version=k8s.io/component-base/version
  [[ -x $program ]] && return
  mkdir -p "$cache"
  (
    cd test/clients/kubectl &&
      GOMEMLIMIT=4GiB timeout 1800 go build -buildvcs=false "-modfile=$3" -o "$program.$$" \
      -ldflags "-s -w -X $version.gitVersion=v1.$1.$2 -X $version.gitMajor=1 -X $version.gitMinor=$1" . &&
      mv "$program.$$" "$program"
  ) || printf '\nkubectl 1.%s is SKIPPED: the build failed\n\n' "$1" >&2
}

build 34 13 1.34.mod
build 35 10 1.35.mod
build 36 6 go.mod
for version in 1.27 1.28 1.29 1.30 1.31 1.32 1.33 1.34 1.35 1.36; do
  printf '\n== kubectl %s\n' "$version"
  GITPLANE_KUBECTL=$version npx vitest run test/e2e/kubectl.test.ts
done
