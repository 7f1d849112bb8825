#!/usr/bin/env bash
# Adds what kubespray 2.23 installs to what build.sh has built, from the Go module proxy and a Debian mirror (15 minutes on two
# cores, 1.5 GB). It is a script beside build.sh because a change of build.sh builds Kubernetes again. It says on standard
# output where: DIR is kubespray below the directory of build.sh.
#
#   DIR/files        what kubespray downloads: Kubernetes 1.27, etcd, containerd, runc, CNI plugins, crictl, nerdctl
#   DIR/layer        what is laid over the tree of build.sh: Debian packages that kubespray wants on Debian 12
#   DIR/containerd   /var/lib/containerd with the images that kubespray pulls
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
BASE=$(bash "$HERE/build.sh")
DIR=$BASE/kubespray
mkdir -p "$DIR"/{bin/cni,files,stages}
cd "$DIR"
exec 3>&1 >&2 9>.lock
flock 9
# Without the cloud providers in the tree of 1.27, whose SDKs take most of the time to build.
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-mod=mod -tags=providerless" DEBIAN_FRONTEND=noninteractive LC_ALL=C

# Versions and functions are those of build.sh; its stages are not run.
source <(sed -n -e '/^KUBERNETES=/,/^FLANNEL_TAGS=/p' -e '/^[a-z0-9_]*() {/,/^}/p' "$HERE/build.sh")
# Of 1.27 this is the newest version of which the module proxy and the checksum database have all modules.
KUBERNETES=v1.27.4
# The newest minor version whose etcdctl makes the backups that kubespray's handlers make.
ETCD=v3.5.10 IMAGE_ETCD=quay.io/coreos/etcd:v3.5.10
NERDCTL=v1.5.0 CRICTL=v1.36.0
IMAGE_AUTOSCALER=registry.k8s.io/cpa/cluster-proportional-autoscaler:v1.8.8

# command_of NAME MODULE VERSION PACKAGE builds one command of a module, with the checksums that the module itself has.
command_of() {
  local sums
  rm -rf "src/$1" # of another version
  scratch "$1"
  sums=$(go mod download -json "$2@$3" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')/go.sum
  install -m 644 "$sums" go.sum
  go get "$2@$3"
  pin "$4"
  go build -trimpath -ldflags '-s -w' -o "$DIR/bin/$1" "$4"
}

programs() {
  command_of nerdctl github.com/containerd/nerdctl "$NERDCTL" github.com/containerd/nerdctl/cmd/nerdctl
  command_of crictl sigs.k8s.io/cri-tools "$CRICTL" sigs.k8s.io/cri-tools/cmd/crictl
  command_of etcdutl go.etcd.io/etcd/etcdutl/v3 "$ETCD" go.etcd.io/etcd/etcdutl/v3
}

# archives packs what is downloaded as the releases of each project are packed.
archives() {
  local release=etcd-$ETCD-linux-$(dpkg --print-architecture)
  rm -rf files pack
  mkdir -p files "pack/$release" pack/bin
  cp bin/kubeadm bin/kubelet bin/kubectl node/usr/sbin/runc files/
  cp bin/etcd bin/etcdctl bin/etcdutl "pack/$release/"
  cp node/usr/bin/containerd node/usr/bin/containerd-shim* node/usr/bin/ctr pack/bin/
  tar -C pack -czf files/etcd.tgz "$release"
  tar -C pack -czf files/containerd.tgz bin
  tar -C "$BASE/bin/cni" -czf files/cni.tgz .
  tar -C bin -czf files/crictl.tgz crictl
  tar -C bin -czf files/nerdctl.tgz nerdctl
  rm -r pack
}

# packages installs what the roles of kubespray install from a Debian mirror on Debian 12.
packages() {
  rm -rf layer overlay
  mkdir -p layer overlay/{work,root}
  mount -t overlay overlay -o lowerdir=tree,upperdir=layer,workdir=overlay/work overlay/root
  trap 'umount "$DIR/overlay/root"' EXIT
  cp /etc/resolv.conf overlay/root/etc/resolv.conf
  printf '#!/bin/sh\nexit 101\n' >overlay/root/usr/sbin/policy-rc.d
  chmod +x overlay/root/usr/sbin/policy-rc.d
  chroot overlay/root apt-get update -q
  chroot overlay/root apt-get install -q -y --no-install-recommends python3-apt gnupg apt-transport-https software-properties-common conntrack iptables apparmor \
    libseccomp2 mergerfs openssl curl rsync socat unzip e2fsprogs xfsprogs ebtables bash-completion
  rm overlay/root/usr/sbin/policy-rc.d
  umount overlay/root
  trap - EXIT
  rm -rf overlay layer/etc/resolv.conf layer/var/{cache/apt,lib/apt/lists}
}

# all_images makes the images of build.sh with this version of Kubernetes. The autoscaler of CoreDNS is not in the module
# proxy: a program that waits has its name, and kubespray never waits for it to do anything.
all_images() {
  images
  install -D "$BASE/bin/pause" rootfs/autoscaler/cluster-proportional-autoscaler
  image rootfs/autoscaler /cluster-proportional-autoscaler "$IMAGE_AUTOSCALER"
  rm -r rootfs
}

ln -sfn "$BASE/tree" tree
ln -sfn "$BASE/node" node
for name in coredns flanneld flannel pause; do
  ln -sfn "$BASE/bin/$name" "bin/$name"
done
built=
for stage in kubernetes etcd programs archives packages all_images bake; do
  built=$(sha256sum <<<"$built $(declare -f "$stage") $KUBERNETES $ETCD $NERDCTL $CRICTL" | cut -c1-12) # with that of the stages before
  [ "$(cat "stages/$stage" 2>/dev/null)" = "$built" ] && continue
  began=$SECONDS
  (set -e; "$stage")
  echo "$stage: $((SECONDS - began)) s"
  echo "$built" >"stages/$stage"
done
echo "$DIR" >&3
