#!/usr/bin/env bash
# Builds the API server of Kubernetes, with etcd inside, for the tests that let it judge our endpoint
# tokens. Some five minutes of processor time and 1.5 GB of Go caches the first time, seconds later.
set -euo pipefail
cd "$(dirname "$0")/../test/support/kube-apiserver"
go build -ldflags '-s -w' -o ../../../node_modules/.cache/gitplane/kube-apiserver .
