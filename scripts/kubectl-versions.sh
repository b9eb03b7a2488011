#!/usr/bin/env bash
# Every verb of kubectl on every kind, with each version of kubectl that is found beside the one on the
# PATH: half a minute a version. The ordinary tests do this with one version.
set -euo pipefail
cd "$(dirname "$0")/.."
for version in 1.27 1.28 1.29 1.30 1.31 1.32 1.33; do
  printf '\n== kubectl %s\n' "$version"
  GITPLANE_KUBECTL=$version npx vitest run test/e2e/kubectl.test.ts
done
