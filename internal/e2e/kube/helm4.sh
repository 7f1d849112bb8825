#!/usr/bin/env bash
# Builds the program helm of version 4, once, in the version that helm4sdk links. It is a separate script because the results of build.sh are
# named by the digest of build.sh: a change of Helm's version does not build Kubernetes again.
#   helm4.sh     says on standard output in which directory the program is
set -euo pipefail
cd "$(dirname "$0")"
HELM=$(go list -m -f '{{.Version}}' helm.sh/helm/v4)
DIR=${VNFKIT_KUBE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/vnfkit-e2e}/helm-$HELM
mkdir -p "$DIR"
exec 3>&1 >&2 9>"$DIR/.lock"
flock 9 # another run may be at it
if [ ! -e "$DIR/helm" ]; then
  began=$SECONDS
  GOBIN=$DIR/new go install -ldflags '-s -w' "helm.sh/helm/v4/cmd/helm@$HELM"
  mv "$DIR/new/helm" "$DIR/helm"
  rmdir "$DIR/new"
  echo "helm $HELM: $((SECONDS - began)) s"
fi
echo "$DIR" >&3
