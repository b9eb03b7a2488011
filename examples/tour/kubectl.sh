#!/usr/bin/env bash
# The platform with kubectl and git. DATA_DIR and URL say where the daemon is; see README.md.
set -eu

DATA_DIR=$(cd "${DATA_DIR:-./data}" && pwd)
URL=${URL:-https://127.0.0.1:8443}
export KUBECONFIG=$DATA_DIR/kubeconfig
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }
# The authority and the key for git, without writing the key into the clone.
in_git() {
  GIT_SSL_CAINFO=$DATA_DIR/tls/ca.crt git -c "credential.helper=!f() { echo username=admin; \
    echo \"password=\$(cat '$DATA_DIR/admin.token')\"; }; f" "$@"
}

say 'What there is'
kubectl api-resources --api-group=management.gitplane.dev
kubectl get teams,users
kubectl get sharedsecrets -A

say 'What a field means'
kubectl explain team.spec.groups

say 'Apply a team, twice: the second time changes one field'
cat > "$work/team.yaml" <<'EOF'
apiVersion: management.gitplane.dev/v1
kind: Team
metadata:
  name: tour
  labels:
    tour: "yes"
spec:
  displayName: Tour
  users: [ada]
EOF
kubectl apply -f "$work/team.yaml"
sed 's/displayName: Tour/displayName: Guided tour/' "$work/team.yaml" > "$work/second.yaml"
kubectl apply -f "$work/second.yaml"
kubectl get team tour -o jsonpath='{.spec.displayName}, generation {.metadata.generation}{"\n"}'

say 'Patch, label, annotate, select'
kubectl patch team tour --type=json \
  -p '[{"op":"add","path":"/spec/users/-","value":"deploy-bot"}]'
kubectl label team tour stage=demo
kubectl annotate team tour example.com/why='to show it'
kubectl get teams -l stage=demo -o wide

say 'What would happen: a dry run on the server'
kubectl patch team tour --type=merge -p '{"spec":{"displayName":"Never"}}' --dry-run=server -o jsonpath='{.spec.displayName}{"\n"}'

say 'A mistake is named'
if kubectl patch team tour --type=merge -p '{"spec":{"displayNam":"x"}}' 2> "$work/error"; then
  echo 'that should have failed' >&2
  exit 1
fi
cat "$work/error"

say 'What git says: one commit for each write'
in_git clone --quiet "$URL/git/platform.git" "$work/platform"
git -C "$work/platform" log --format='%an: %s' -- teams/tour.yaml

say 'Change it with git: the other road'
cd "$work/platform"
printf '# the tour was here\n%s\n' "$(cat teams/tour.yaml)" > teams/tour.yaml
git -c user.name=Guide -c user.email=guide@example.com commit --quiet --all --message 'Leave a comment'
(in_git push --quiet origin HEAD) 2>&1 | sed 's/ *$//'
cd - > /dev/null

say 'Delete it; the manifest goes, history stays'
kubectl delete team tour
in_git -C "$work/platform" pull --quiet
git -C "$work/platform" log -1 --format='%an: %s'
