#!/usr/bin/env bash
# The API with nothing but curl. DATA_DIR and URL say where the daemon is; see README.md.
set -eu

DATA_DIR=${DATA_DIR:-./data}
URL=${URL:-https://127.0.0.1:8443}
API=$URL/kubernetes/management/apis/management.gitplane.dev/v1
SECRETS=$API/namespaces/payments/sharedsecrets
TOKEN=$(cat "$DATA_DIR/admin.token")

say() { printf '\n== %s\n' "$*"; }
# The key goes in through a file descriptor, so that it is in no list of processes.
call_as() {
  local token=$1
  shift
  curl --silent --show-error --cacert "$DATA_DIR/tls/ca.crt" \
    --header @<(printf 'Authorization: Bearer %s\n' "$token") "$@"
}
call() { call_as "$TOKEN" --fail-with-body "$@"; }
# One field of an answer, for scripts without jq: the first "name": "value".
field() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" | head -n 1; }

say 'Who is there: a list of teams'
call "$API/teams" | grep '"name": "p'

say 'Create a shared secret; the body may be YAML'
call --request POST "$SECRETS" --header 'Content-Type: application/yaml' --data-binary @- <<'EOF'
apiVersion: management.gitplane.dev/v1
kind: SharedSecret
metadata:
  name: tour
spec:
  displayName: A secret of the tour
  owner:
    team: payments
  data:
    password: ZXhhbXBsZQ==
EOF

say 'Which commit is it? Every write says'
call --request PATCH "$SECRETS/tour" --header 'Content-Type: application/json-patch+json' \
  --header 'Gitplane-Reason: The tour wants to be found.' \
  --data '[{"op":"add","path":"/metadata/labels","value":{"tour":"yes"}}]' \
  --dump-header - --output /dev/null | grep -i '^gitplane-commit'

say 'Select it by its label'
call --get "$SECRETS" --data-urlencode 'labelSelector=tour=yes' | field name

say 'Replace it: send the version that you read'
version=$(call "$SECRETS/tour" | field resourceVersion)
body() {
  printf '{"metadata":{"name":"tour","resourceVersion":"%s"},' "$1"
  printf '"spec":{"displayName":"Replaced","data":{"password":"c2Vjb25k"}}}'
}
body "$version" | call --request PUT "$SECRETS/tour" --header 'Content-Type: application/json' \
  --data-binary @- | field displayName

say 'The same version again is a conflict: somebody wrote meanwhile (here: we did)'
body "$version" | call_as "$TOKEN" --request PUT "$SECRETS/tour" \
  --header 'Content-Type: application/json' --data-binary @- --write-out '\n%{http_code}\n' |
  tail -n 1 | grep 409

say 'A dry run checks everything and writes nothing'
call --request POST "$SECRETS?dryRun=All" --header 'Content-Type: application/yaml' \
  --data '{metadata: {name: never}}' | field name
call_as "$TOKEN" "$SECRETS/never" --output /dev/null --write-out '%{http_code}\n' | grep 404

say 'Watch for a second: everything there is, then every change'
call --no-buffer "$SECRETS?watch=true&timeoutSeconds=1" | grep -c '"type":"ADDED"'

say 'A key of your own: shown once'
key=$(call --request POST "$API/ownedaccesskeys" --header 'Content-Type: application/yaml' \
  --data '{metadata: {name: tour}, spec: {user: deploy-bot, type: User, ttl: 600}}' | field key)
printf '%s…\n' "${key%"${key#gpu_}"}"

say 'deploy-bot is in the team payments, which may read the secrets of payments, and no teams'
call_as "$key" "$SECRETS/tour" --output /dev/null --write-out '%{http_code}\n' | grep 200
call_as "$key" "$API/teams" --output /dev/null --write-out '%{http_code}\n' | grep 403

say 'Take it all away'
call --request DELETE "$API/ownedaccesskeys/tour" | grep '"status": "Success"'
call --request DELETE "$SECRETS/tour" | grep '"status": "Success"'
call_as "$key" "$SECRETS" --output /dev/null --write-out '%{http_code}\n' | grep 401
