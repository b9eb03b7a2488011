#!/usr/bin/env bash
# Builds the API server of Kubernetes 1.36, with etcd inside, for the tests that let it judge our answers and
# endpoint tokens. Needs Go 1.26; seven minutes of processor time and 2 GB of Go caches the first time, seconds later.
set -euo pipefail
cd "$(dirname "$0")/../test/support/kube-apiserver"
go build -ldflags '-s -w' -o ../../../node_modules/.cache/gitplane/kube-apiserver .
