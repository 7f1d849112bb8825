#!/usr/bin/env bash
# Builds the program helm of version 4, the tool of go.mod, once. It has the version that helm4sdk links and is built of the
# packages that the tests are built of, which takes seconds instead of a minute. It is apart from build.sh, whose parts are
# named by what build.sh holds: another version of Helm does not build Kubernetes again.
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
  go build -ldflags '-s -w' -o "$DIR/new" helm.sh/helm/v4/cmd/helm
  mv "$DIR/new" "$DIR/helm"
  echo "helm $HELM: $((SECONDS - began)) s"
fi
echo "$DIR" >&3
