#!/usr/bin/env bash
# Adds what upgrades take to what build.sh builds for several versions (2 minutes when these are built): upgrade.sh VERSION...
# It prints the directory DIR/upgrade.
#
#   DIR/upgrade/containerd   /var/lib/containerd with the images of all versions, and the etcd that has to come before 3.7
#   DIR/upgrade/etcd.tar     the image of that etcd
#   DIR/upgrade/VERSION      the directory of build.sh for the version
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
ETCD=v3.6.11 # the oldest version from which etcd may be upgraded to 3.7
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=mod LC_ALL=C
built=() tars=()
for version; do
  directory=$(VNFKIT_KUBERNETES_VERSION=$version bash "$HERE/build.sh")
  built+=("$directory") tars+=("$directory"/images/*.tar)
done
cd "$(dirname "${built[0]}")"
DIR=$PWD NODE=${built[0]}/node
exec 3>&1 >&2 9>.lock
flock 9
STAMP=$({ cat "$HERE/upgrade.sh"; echo "${built[@]}"; } | sha256sum | cut -c1-12)

# etcd makes the image of etcd.
etcd() {
  local layer pack=upgrade/etcd
  mkdir -p upgrade/src "$pack/root/usr/local/bin" "$pack/image"
  cd upgrade/src
  [ -f go.mod ] || printf 'module build\n\ngo 1.25.0\n' >go.mod
  go get "go.etcd.io/etcd/server/v3@$ETCD" "go.etcd.io/etcd/etcdctl/v3@$ETCD"
  printf '//go:build tools\n\npackage build\n\nimport (\n\t_ "go.etcd.io/etcd/etcdctl/v3"\n\t_ "go.etcd.io/etcd/server/v3"\n)\n' >tools.go
  go build -trimpath -ldflags '-s -w' -gcflags=all=-dwarf=false -o "$DIR/$pack/root/usr/local/bin/etcd" go.etcd.io/etcd/server/v3
  go build -trimpath -ldflags '-s -w' -gcflags=all=-dwarf=false -o "$DIR/$pack/root/usr/local/bin/etcdctl" go.etcd.io/etcd/etcdctl/v3
  cd "$DIR/$pack/image"
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C ../root -cf layer.tar .
  layer=$(sha256sum layer.tar | cut -d' ' -f1)
  echo "{\"architecture\":\"$(dpkg --print-architecture)\",\"os\":\"linux\",\"config\":{\"Entrypoint\":[\"/usr/local/bin/etcd\"],\"Env\":[\"PATH=/usr/local/bin\"]},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:$layer\"]}}" >config.json
  echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"registry.k8s.io/etcd:${ETCD#v}-0\"],\"Layers\":[\"layer.tar\"]}]" >manifest.json
  tar -cf ../../etcd.tar config.json layer.tar manifest.json
}

# bake lets a containerd unpack the images of all versions once.
bake() {
  local pid tar socket=/run/vnfkit-e2e-upgrade/containerd.sock
  mkdir -p upgrade/containerd /run/vnfkit-e2e-upgrade
  PATH=$NODE/usr/bin:$NODE/usr/sbin:$PATH "$NODE/usr/bin/containerd" --root "$DIR/upgrade/containerd" --state /run/vnfkit-e2e-upgrade/state \
    --address "$socket" --config /dev/null >upgrade/containerd.log 2>&1 &
  pid=$!
  trap 'kill $pid; wait $pid || true' EXIT
  until "$NODE/usr/bin/ctr" --address "$socket" version >/dev/null 2>&1; do
    kill -0 "$pid"
    sleep 0.1
  done
  for tar in upgrade/etcd.tar "${tars[@]}"; do
    "$NODE/usr/bin/ctr" --address "$socket" --namespace k8s.io images import "$tar"
  done
  kill "$pid"
  wait "$pid" || true
  trap - EXIT
  rm -rf /run/vnfkit-e2e-upgrade upgrade/containerd/tmpmounts
}

if [ "$(cat upgrade/stamp 2>/dev/null)" != "$STAMP" ]; then
  rm -rf upgrade
  mkdir upgrade
  (set -e; etcd)
  (set -e; bake)
  for directory in "${built[@]}"; do
    ln -s "$directory" "upgrade/${directory##*/}"
  done
  rm -rf upgrade/etcd upgrade/src
  echo "$STAMP" >upgrade/stamp
fi
echo "$DIR/upgrade" >&3
