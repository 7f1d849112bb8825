#!/usr/bin/env bash
# Builds what real Kubernetes clusters of the end-to-end tests are made from, with nothing but the Go module proxy
# and a Debian mirror: binaries, Debian packages in a signed repository, container images, file systems to boot.
#   build.sh     every stage once; one that was cut short is begun again. About 26 minutes cold, on 2 cores
#
# VNFKIT_KUBERNETES_VERSION selects the version of Kubernetes. Versions are built beside each other. A further one takes about
# 15 minutes and 3 GB: it uses the trees, packages and programs of the first one.
#
# It says on standard output where: DIR is in VNFKIT_KUBE_DIR or, by default, in a directory of the user's cache. Its name has the
# digest of what it is built by, and ends with the version.
#
#   DIR/bin          Kubernetes, etcd, pause, coredns, flannel, helm, kwok
#   DIR/kwok.yaml    what the nodes and pods of kwok do: they become ready at once
#   DIR/tree         Debian with systemd and sshd, without anything of Kubernetes; apt knows only DIR/debian
#   DIR/cloud        what an image for clouds holds beyond the tree: cloud-init
#   DIR/debian       a repository with the Debian packages that nodes need
#   DIR/kubernetes   a flat repository with kubeadm, kubelet, kubectl, kubernetes-cni, as pkgs.k8s.io is laid out
#   DIR/key.asc      the key that both are signed with, the same for all versions
#   DIR/node         what a ready image holds beyond the tree: the packages of both, installed
#   DIR/containerd   /var/lib/containerd with all images of a cluster
#   DIR/images       the images as archives, and registry.tar: the registry of Debian, as registry:latest
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
CACHE=${VNFKIT_KUBE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/vnfkit-e2e}
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=mod DEBIAN_FRONTEND=noninteractive LC_ALL=C

KUBERNETES=v${VNFKIT_KUBERNETES_VERSION:-1.36.3} FLANNEL=v0.28.4 HELM=v3.22.0 PLUGINS=v1.9.1 KWOK=v0.8.0
# What kubeadm of the version asks for: an image has the program of the version in its name.
case $KUBERNETES in
  v1.35.*) ETCD=v3.6.6 COREDNS=v1.13.1 PAUSE=3.10.1 ;;
  v1.36.*) ETCD=v3.6.8 COREDNS=v1.14.2 PAUSE=3.10.2 ;;
  v1.37.*) ETCD=v3.7.0 COREDNS=v1.14.6 PAUSE=3.10.2 ;;
  *)
    echo "build.sh does not know which images Kubernetes $KUBERNETES needs" >&2
    exit 2 ;;
esac
IMAGE_ETCD=registry.k8s.io/etcd:${ETCD#v}-0 IMAGE_COREDNS=registry.k8s.io/coredns/coredns:$COREDNS IMAGE_PAUSE=registry.k8s.io/pause:$PAUSE
# Of flannel there is one version, also under the names that the sample package asks for.
FLANNEL_TAGS=(v0.27.0 v0.28.4) FLANNEL_CNI_TAGS=(v1.7.1-flannel1 v1.9.1-flannel1) # of the sample package, and the driver's own

SMALL=(-trimpath -ldflags '-s -w' -gcflags=all=-dwarf=false) # no debugging information, also while compiling

# scratch NAME begins a module to build commands of another one in: "go install" refuses where replace lines are.
scratch() {
  mkdir -p "src/$1"
  cd "src/$1"
  [ -f go.mod ] || printf 'module build\n\ngo 1.25.0\n' >go.mod
}

# pin PACKAGE... lets go.sum have what the commands import.
pin() {
  { printf '//go:build tools\n\npackage build\n\nimport (\n'; printf '\t_ "%s"\n' "$@"; echo ')'; } >tools.go
}

kubernetes() {
  local package module version=v0.${KUBERNETES#v1.} flags="-s -w"
  local names=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubeadm kubectl)
  scratch kubernetes
  if ! grep -q replace go.mod; then
    # Its own go.mod replaces the staging modules by directories, which does not count for others.
    module=$(go mod download -json "k8s.io/kubernetes@$KUBERNETES" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
    {
      printf 'require k8s.io/kubernetes %s\n\nreplace (\n' "$KUBERNETES"
      sed -n "s,^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => ./staging/.*,\t\1 => \1 $version,p" "$module"
      echo ')'
    } >>go.mod
  fi
  pin "${names[@]/#/k8s.io/kubernetes/cmd/}"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags="$flags -X $package.gitVersion=$KUBERNETES -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES") -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
  done
  go build "${SMALL[@]}" -ldflags "$flags" -o "$DIR/bin/" "${names[@]/#/k8s.io/kubernetes/cmd/}"
}

# images_of_kubeadm compares the images with those that kubeadm asks for.
images_of_kubeadm() {
  local image
  for image in "$IMAGE_ETCD" "$IMAGE_COREDNS" "$IMAGE_PAUSE"; do
    bin/kubeadm config images list --kubernetes-version "$KUBERNETES" | grep -qFx "$image"
  done
}

etcd() {
  scratch etcd
  go get "go.etcd.io/etcd/server/v3@$ETCD" "go.etcd.io/etcd/etcdctl/v3@$ETCD"
  pin go.etcd.io/etcd/server/v3 go.etcd.io/etcd/etcdctl/v3
  go build "${SMALL[@]}" -o "$DIR/bin/etcd" go.etcd.io/etcd/server/v3
  go build "${SMALL[@]}" -o "$DIR/bin/etcdctl" go.etcd.io/etcd/etcdctl/v3
}

# etcdutl is a stage beside etcd: kubespray.sh builds it in another way.
etcdutl() {
  scratch etcdutl
  go get "go.etcd.io/etcd/etcdutl/v3@$ETCD"
  pin go.etcd.io/etcd/etcdutl/v3
  go build "${SMALL[@]}" -o "$DIR/bin/etcdutl" go.etcd.io/etcd/etcdutl/v3
}

coredns() {
  GOBIN=$DIR/bin go install "${SMALL[@]}" "github.com/coredns/coredns@$COREDNS"
}

pause() (
  cd "$HERE"
  GOFLAGS= go build "${SMALL[@]}" -ldflags "-s -w -X main.version=$PAUSE" -o "$DIR/bin/pause" ./pause
)

tools() {
  local GOBIN=$DIR/bin
  export GOBIN
  go install "${SMALL[@]}" "helm.sh/helm/v3/cmd/helm@$HELM"
  # Without two of its backends: one is for a cloud whose SDK the module proxy does not have, the other is C.
  rm -rf "$DIR/src/flannel"
  mkdir -p "$DIR/src"
  cp -r --no-preserve=mode "$(go mod download -json "github.com/flannel-io/flannel@$FLANNEL" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')" "$DIR/src/flannel"
  cd "$DIR/src/flannel"
  sed -i -E '/tencentvpc|backend\/udp/d' main.go
  rm -r pkg/backend/tencentvpc pkg/backend/udp
  go build "${SMALL[@]}" -o "$DIR/bin/flanneld" .
  cd "$HERE"
  GOFLAGS= go build "${SMALL[@]}" -o "$DIR/bin/flannel" ./flannelcni
}

# kwok plays nodes. It does nothing but what the stages say that its module brings along.
kwok() {
  local stages file
  GOBIN=$DIR/bin go install "${SMALL[@]}" "sigs.k8s.io/kwok/cmd/kwok@$KWOK"
  stages=$(go mod download -json "sigs.k8s.io/kwok@$KWOK" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')/kustomize/stage
  for file in "$stages"/{node/fast,node/heartbeat-with-lease,pod/fast}/*.yaml; do
    [ "${file##*/}" = kustomization.yaml ] || { echo ---; cat "$file"; }
  done >kwok.yaml
  grep -q '^kind: Stage' kwok.yaml
}

plugins() {
  local name
  scratch plugins
  go get "github.com/containernetworking/plugins@$PLUGINS"
  pin github.com/containernetworking/plugins/plugins/main/{bridge,loopback} github.com/containernetworking/plugins/plugins/{ipam/host-local,meta/portmap}
  for name in main/bridge main/loopback ipam/host-local meta/portmap; do
    go build "${SMALL[@]}" -o "$DIR/bin/cni/${name#*/}" "github.com/containernetworking/plugins/plugins/$name"
  done
}

tree() {
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -1)
  rm -rf tree
  debootstrap --variant=minbase \
    --include=systemd,systemd-sysv,dbus,openssh-server,sudo,iproute2,iputils-ping,curl,ca-certificates,iptables,nftables,procps,kmod,ethtool,gnupg,python3,jq \
    bookworm tree "${mirror:-http://deb.debian.org/debian}" >tree.log
  rm -f tree/etc/ssh/ssh_host_* tree/var/cache/apt/archives/*.deb
}

# cloud installs cloud-init over the tree.
cloud() {
  rm -rf cloud overlay
  mkdir -p cloud overlay/{work,root}
  mount -t overlay overlay -o lowerdir=tree,upperdir=cloud,workdir=overlay/work overlay/root
  trap 'umount "$DIR/overlay/root"' EXIT
  cp /etc/resolv.conf overlay/root/etc/resolv.conf
  chroot overlay/root apt-get update -q
  chroot overlay/root apt-get install -q -y --no-install-recommends cloud-init
  umount overlay/root
  trap - EXIT
  rm -rf overlay cloud/etc/resolv.conf cloud/var/{cache/apt,lib/apt/lists}
}

# debian_packages gets what nodes are given, with all they depend on.
debian_packages() {
  rm -rf debian overlay
  mkdir -p debian overlay/{upper,work,root}
  mount -t overlay overlay -o lowerdir=tree,upperdir=overlay/upper,workdir=overlay/work overlay/root
  trap 'umount "$DIR/overlay/root"' EXIT
  cp /etc/resolv.conf overlay/root/etc/resolv.conf
  chroot overlay/root apt-get update -q
  chroot overlay/root apt-get install -q -y --download-only --no-install-recommends containerd runc conntrack socat ebtables ethtool haproxy keepalived \
    docker.io docker-registry libldap-2.5-0
  cp overlay/root/var/cache/apt/archives/*.deb debian/
  umount overlay/root
  trap - EXIT
  rm -rf overlay
  index debian
}

# package NAME DEPENDS writes a package from src/deb/NAME.
package() {
  mkdir -p "src/deb/$1/DEBIAN"
  cat >"src/deb/$1/DEBIAN/control" <<EOF
Package: $1
Version: ${KUBERNETES#v}-1.1
Architecture: $(dpkg --print-architecture)
Maintainer: vnfkit end-to-end tests <nobody@example.org>
Depends: $2
Description: $1 $KUBERNETES, built for tests
EOF
  dpkg-deb --root-owner-group -Zgzip --build "src/deb/$1" "kubernetes/$1_${KUBERNETES#v}-1.1_$(dpkg --print-architecture).deb" >/dev/null
}

kubernetes_packages() {
  local name units=src/deb/kubelet/usr/lib/systemd/system
  rm -rf src/deb kubernetes
  mkdir -p kubernetes "$units" src/deb/kubeadm/usr/lib/systemd/system/kubelet.service.d src/deb/kubernetes-cni/opt/cni/bin
  for name in kubelet kubeadm kubectl; do
    install -D "bin/$name" "src/deb/$name/usr/bin/$name"
  done
  cp bin/cni/* src/deb/kubernetes-cni/opt/cni/bin/
  printf '%s\n' '[Unit]' Wants=network-online.target After=network-online.target '[Service]' ExecStart=/usr/bin/kubelet Restart=always \
    StartLimitInterval=0 RestartSec=2 '[Install]' WantedBy=multi-user.target >"$units/kubelet.service"
  cat >src/deb/kubeadm/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf <<'EOF'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
EOF
  package kubernetes-cni libc6
  package kubelet 'iptables, kubernetes-cni'
  package kubectl libc6
  package kubeadm 'kubelet, kubectl'
  index kubernetes
}

key() {
  export GNUPGHOME=$DIR/gnupg
  rm -rf "$GNUPGHOME"
  mkdir -m 700 "$GNUPGHOME"
  gpg --batch --quiet --passphrase '' --quick-generate-key 'vnfkit end-to-end tests <nobody@example.org>' ed25519 sign never
  gpg --batch --armor --export >key.asc
  gpgconf --kill all
}

# index DIRECTORY makes a signed repository of the packages in it.
index() (
  export GNUPGHOME=$DIR/gnupg
  cd "$1"
  dpkg-scanpackages --multiversion . /dev/null >Packages 2>/dev/null
  printf 'Origin: tests\nLabel: tests\nSuite: stable\nCodename: stable\nDate: %s\nSHA256:\n %s %s Packages\n' \
    "$(date -u +'%a, %d %b %Y %T UTC')" "$(sha256sum Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >Release
  gpg --batch --yes --clearsign -o InRelease Release
  gpgconf --kill all
)

# node installs both repositories over the tree.
node() {
  rm -rf node overlay
  mkdir -p node overlay/{work,root}
  mount -t overlay overlay -o lowerdir=tree,upperdir=node,workdir=overlay/work overlay/root
  trap 'umount "$DIR/overlay/root"' EXIT
  printf '#!/bin/sh\nexit 101\n' >overlay/root/usr/sbin/policy-rc.d
  chmod +x overlay/root/usr/sbin/policy-rc.d
  mkdir overlay/root/mnt/packages
  cp debian/*.deb kubernetes/*.deb overlay/root/mnt/packages/
  chroot overlay/root sh -c 'dpkg --install /mnt/packages/*.deb' >node.log
  rm -r overlay/root/mnt/packages overlay/root/usr/sbin/policy-rc.d
  # What the package of Debian switches on is off until it is asked for, as in an image made for nodes.
  for unit in haproxy keepalived docker docker.socket docker-registry; do
    chroot overlay/root systemctl --quiet disable "$unit"
  done
  umount overlay/root
  trap - EXIT
  rm -rf overlay
}

# libraries ROOT FILE... copies files, and the shared libraries that they need, to where they are below ROOT.
libraries() {
  local root=$1 file library
  shift
  for file in "$@"; do
    mkdir -p "$root$(dirname "$file")"
    cp -L "node$file" "$root$file" 2>/dev/null || cp -L "tree$file" "$root$file"
    chroot overlay/root ldd "$file" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
      mkdir -p "$root$(dirname "$library")"
      cp -L "overlay/root$library" "$root$library"
    done
  done
}

# image ROOT ENTRYPOINT NAME... packs a directory as an image with these names. The words of ENTRYPOINT have no blanks.
image() {
  local root=$1 entry pack layer config tags
  entry=$(printf '"%s",' $2)
  shift 2
  tags=$(printf '"%s",' "$@")
  pack=$(mktemp -d)
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" -cf "$pack/layer.tar" .
  layer=$(sha256sum "$pack/layer.tar" | cut -d' ' -f1)
  echo "{\"architecture\":\"$(dpkg --print-architecture)\",\"os\":\"linux\",\"config\":{\"Entrypoint\":[${entry%,}],\"Env\":[\"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"]},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:$layer\"]}}" >"$pack/config.json"
  config=$(sha256sum "$pack/config.json" | cut -d' ' -f1)
  mv "$pack/config.json" "$pack/$config.json"
  echo "[{\"Config\":\"$config.json\",\"RepoTags\":[${tags%,}],\"Layers\":[\"layer.tar\"]}]" >"$pack/manifest.json"
  mkdir -p images
  tar -C "$pack" -cf "images/$(basename "${1%:*}").tar" "$config.json" layer.tar manifest.json
  rm -r "$pack"
}

images() {
  local name root
  rm -rf images rootfs overlay
  mkdir -p rootfs overlay/{upper,work,root}
  mount -t overlay overlay -o lowerdir=node:tree,upperdir=overlay/upper,workdir=overlay/work overlay/root
  trap 'umount "$DIR/overlay/root"' EXIT
  for name in kube-apiserver kube-controller-manager kube-scheduler; do
    root=rootfs/$name
    mkdir -p "$root/etc/ssl/certs" "$root/tmp"
    install -D "bin/$name" "$root/usr/local/bin/$name"
    image "$root" "/usr/local/bin/$name" "registry.k8s.io/$name:$KUBERNETES"
  done
  for name in kube-proxy flanneld; do
    root=rootfs/$name
    mkdir -p "$root"/{tmp,etc,run,var/lib}
    install -D "bin/$name" "$root/usr/local/bin/$name"
    libraries "$root" /usr/sbin/xtables-nft-multi /usr/sbin/conntrack /usr/sbin/nft $(cd overlay/root && ls -d usr/lib/*/xtables/*.so | sed 's,^,/,')
    for link in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
      ln -sf xtables-nft-multi "$root/usr/sbin/$link"
    done
  done
  image rootfs/kube-proxy /usr/local/bin/kube-proxy "registry.k8s.io/kube-proxy:$KUBERNETES"
  mkdir -p rootfs/flanneld/opt/bin
  mv rootfs/flanneld/usr/local/bin/flanneld rootfs/flanneld/opt/bin/flanneld
  libraries rootfs/flanneld /bin/cp
  image rootfs/flanneld /opt/bin/flanneld "${FLANNEL_TAGS[@]/#/ghcr.io/flannel-io/flannel:}"
  install -D bin/flannel rootfs/flannel-cni/flannel
  libraries rootfs/flannel-cni /bin/cp
  image rootfs/flannel-cni /flannel "${FLANNEL_CNI_TAGS[@]/#/ghcr.io/flannel-io/flannel-cni-plugin:}"
  install -D bin/pause rootfs/pause/pause
  image rootfs/pause /pause "$IMAGE_PAUSE" "${IMAGE_PAUSE%:*}:tests" # of the tests' own pods
  install -D bin/coredns rootfs/coredns/coredns
  image rootfs/coredns /coredns "$IMAGE_COREDNS" "${IMAGE_COREDNS%:*}:tests"
  mkdir -p rootfs/etcd/{tmp,var/lib/etcd}
  install -D bin/etcd rootfs/etcd/usr/local/bin/etcd
  install -D bin/etcdctl rootfs/etcd/usr/local/bin/etcdctl
  install -D bin/etcdutl rootfs/etcd/usr/local/bin/etcdutl
  image rootfs/etcd /usr/local/bin/etcd "$IMAGE_ETCD"
  umount overlay/root
  trap - EXIT
  rm -rf rootfs overlay
}

# bake lets a containerd unpack the images once; machines get its directory.
bake() {
  local pid tar socket=/run/vnfkit-e2e-bake/containerd.sock
  rm -rf containerd
  mkdir -p containerd /run/vnfkit-e2e-bake
  PATH=$DIR/node/usr/bin:$DIR/node/usr/sbin:$PATH node/usr/bin/containerd --root "$DIR/containerd" --state /run/vnfkit-e2e-bake/state --address "$socket" \
    --config /dev/null >containerd.log 2>&1 &
  pid=$!
  trap 'kill $pid; wait $pid || true' EXIT
  until node/usr/bin/ctr --address "$socket" version >/dev/null 2>&1; do
    kill -0 "$pid"
    sleep 0.1
  done
  for tar in images/*.tar; do
    node/usr/bin/ctr --address "$socket" --namespace k8s.io images import "$tar"
  done
  kill "$pid"
  wait "$pid" || true
  trap - EXIT
  rm -rf /run/vnfkit-e2e-bake containerd/tmpmounts
}

# registry_image makes what a registry VNF runs. Clusters do not have it.
registry_image() {
  local root=rootfs/registry
  rm -rf rootfs overlay
  mkdir -p "$root"/{bin,tmp,etc/docker/registry,etc/ssl/certs,var/lib/registry} overlay/{upper,work,root}
  mount -t overlay overlay -o lowerdir=node:tree,upperdir=overlay/upper,workdir=overlay/work overlay/root
  trap 'umount "$DIR/overlay/root"' EXIT
  libraries "$root" /usr/bin/docker-registry
  mv "$root/usr/bin/docker-registry" "$root/bin/registry"
  cp tree/etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  # As in the image of the project.
  cat >"$root/etc/docker/registry/config.yml" <<'EOF'
version: 0.1
log: {fields: {service: registry}}
storage:
  cache: {blobdescriptor: inmemory}
  filesystem: {rootdirectory: /var/lib/registry}
http:
  addr: :5000
  headers: {X-Content-Type-Options: [nosniff]}
health: {storagedriver: {enabled: true, interval: 10s, threshold: 3}}
EOF
  image "$root" '/bin/registry serve /etc/docker/registry/config.yml' registry:latest
  umount overlay/root
  trap - EXIT
  rm -rf rootfs overlay
}

# run STAGE... runs the stages that are not done.
run() {
  local stage began
  for stage; do
    [ -e "stages/$stage" ] && continue
    began=$SECONDS
    (set -e; "$stage")
    echo "$stage: $((SECONDS - began)) s"
    touch "stages/$stage"
  done
}

# digest WORD... prints a short digest of the words, and of all that a directory is built by.
digest() {
  { echo "$@"; declare -f; cat "$HERE/pause/main.go" "$HERE/flannelcni/main.go"; } | sha256sum | cut -c1-12
}

# enter DIRECTORY waits for another run that builds in it.
enter() {
  DIR=$1
  mkdir -p "$DIR"/{bin,stages}
  cd "$DIR"
  exec 9>.lock
  flock 9
}

exec 3>&1 >&2
COMMON=(gnupg key.asc tree cloud debian kwok.yaml bin/{helm,flanneld,flannel,kwok,cni})
BASE=$CACHE/kube-$(digest "$FLANNEL $HELM $PLUGINS $KWOK ${SMALL[*]}")
enter "$BASE"
run key
run tree cloud debian_packages & # they wait for downloads
run tools kwok plugins
wait $!
enter "$BASE/${KUBERNETES#v}"
for name in "${COMMON[@]}"; do
  ln -sfn "$BASE/$name" "$name"
done
run kubernetes images_of_kubeadm etcd etcdutl coredns pause kubernetes_packages node images bake registry_image
echo "$DIR" >&3
