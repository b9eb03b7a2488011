#!/usr/bin/env bash
# Builds Gitea for the tests of the forge into the cache of gitplane, from the Go module proxy, without its web
# assets. Needs Go 1.26 and a C compiler; five minutes of processor time the first time. Does nothing where it is there.
set -euo pipefail
place="${XDG_CACHE_HOME:-$HOME/.cache}/gitplane/gitea"
version=v1.26.0

missing() {
  printf 'Gitea is missing: %s. The tests against it are SKIPPED\n' "$*" >&2
  exit 1
}

if [ -x "$place/gitea" ]; then exit 0; fi
command -v go >/dev/null || missing 'Go is needed to build it'
command -v "${CC:-gcc}" >/dev/null || missing 'a C compiler is needed to build it'
module="$(go mod download -json "code.gitea.io/gitea@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
[ -d "$module" ] || missing "the module proxy has no code.gitea.io/gitea $version"
source="$(mktemp -d)"
trap 'chmod -R u+w "$source"; rm -rf "$source"' EXIT
cp -r "$module/." "$source"
chmod -R u+w "$source"
mkdir -p "$place/static"
# The replacements of its go.mod count only in its own folder.
(cd "$source" && GOFLAGS=-buildvcs=false CGO_ENABLED=1 timeout 1800 go build -trimpath -ldflags '-s -w' \
  -tags 'sqlite sqlite_unlock_notify' -o "$place/gitea.new" .) || missing 'the build failed'
cp -r "$source"/{options,templates,public} "$place/static/"
mv "$place/gitea.new" "$place/gitea"
"$place/gitea" --version
