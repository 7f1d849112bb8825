#!/bin/bash
# Prepares a Debian 12 or Ubuntu machine and makes it a node of a kubeadm
# cluster. A management driver runs it on every node when a request names it as
# script_path.
#
#   first control-plane node:  -m IPS -i ADDRESS -p POD_CIDR -a SERVICE_CIDR
#   further ones:              the same with -t TOKEN -s CA_HASH -k CERTIFICATE_KEY
#   worker:                    -w OWN_IP -i ADDRESS -t TOKEN -s CA_HASH
#
# IPS are all control-plane addresses, comma separated, the first node's first.
# ADDRESS is where the API is reached: a virtual address when there are several.
# -d traces the commands.
#
# Environment: ha_flag ("False" tells a worker that there is one control-plane
# node), http_proxy, https_proxy, no_proxy, HTTP_PRIVATE_REGISTRIES (registries
# without TLS: "a:5000","b:5000"), CNI_MANIFEST (applied by the first node when
# the file exists; default /tmp/cni.yaml).
#
# The first node ends with the lines token:, server:, the CA certificate,
# ssl_ca_cert_hash: and certificate_key: on standard output, where nothing else
# goes. Any failure ends the script with a status that is not 0.
set -euo pipefail

die() { echo "install_k8s_cluster: $*" >&2; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
write() { as_root mkdir -p "${1%/*}"; as_root tee "$1" >/dev/null; }
# For what holds passwords: proxy URLs. They are on no command line, and only root can read the file.
write_private() { as_root mkdir -p "${1%/*}"; as_root sh -c 'umask 077; cat >"$0"' "$1"; }

masters="" worker="" address="" pod_cidr="192.168.0.0/16" service_cidr="10.96.0.0/12"
token="" ca_hash="" cert_key=""
while getopts m:w:i:p:a:t:s:k:d opt; do
  case $opt in
    m) masters=$OPTARG ;;
    w) worker=$OPTARG ;;
    i) address=$OPTARG ;;
    p) pod_cidr=$OPTARG ;;
    a) service_cidr=$OPTARG ;;
    t) token=$OPTARG ;;
    s) ca_hash=${OPTARG#sha256:} ;;
    k) cert_key=$OPTARG ;;
    d) set -x ;;
    *) die "unknown option; see the head of this file" ;;
  esac
done
[ -n "$address" ] || die "-i is missing"

# The role of this machine, its own address and the port of the API.
port=6443
if [ -n "$worker" ]; then
  role=worker own=$worker
  [ -n "$token" ] && [ -n "$ca_hash" ] || die "a worker needs -t and -s"
  [ "${ha_flag:-True}" = False ] || port=16443
elif [ -n "$masters" ]; then
  role=master own=""
  for ip in ${masters//,/ }; do
    for mine in $(hostname -I); do
      [ "$ip" != "$mine" ] || own=$ip
    done
  done
  [ -n "$own" ] || die "none of $masters is an address of this machine"
  [ -z "$token" ] || { [ -n "$ca_hash" ] && [ -n "$cert_key" ]; } || die "a further control-plane node needs -t, -s and -k"
  [ "${masters#*,}" = "$masters" ] || port=16443
else
  die "one of -m and -w is needed"
fi
name=$role${own##*.}

# load_module NAME PATH loads a kernel module. modprobe fails also where the kernel has it built in; PATH shows that it is there.
load_module() {
  as_root modprobe "$1" || [ -e "$2" ] || die "the kernel has no $1"
}

prepare() {
  echo "$name" | write /etc/hostname
  as_root hostname "$name"
  as_root swapoff -a
  if [ -f /etc/fstab ]; then
    while IFS= read -r line; do
      case $line in '#'*) ;; *swap*) line="#$line" ;; esac
      printf '%s\n' "$line"
    done </etc/fstab | write /etc/fstab.vnfkit
    as_root mv /etc/fstab.vnfkit /etc/fstab
  fi
  printf 'overlay\nbr_netfilter\n' | write /etc/modules-load.d/kubernetes.conf
  load_module overlay /sys/module/overlay
  load_module br_netfilter /proc/sys/net/bridge
  printf 'net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n' | write /etc/sysctl.d/90-kubernetes.conf
  as_root sysctl -p /etc/sysctl.d/90-kubernetes.conf
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y "$@"
}

install_packages() {
  local missing=""
  containerd --version >/dev/null 2>&1 || missing="$missing containerd"
  kubeadm version >/dev/null 2>&1 || missing="$missing kubelet kubeadm kubectl conntrack"
  [ "$role$port" != master16443 ] || as_root haproxy -v >/dev/null 2>&1 || missing="$missing haproxy keepalived"
  [ -n "$missing" ] || return 0
  if [ -n "${http_proxy:-}${https_proxy:-}" ]; then
    printf 'Acquire::http::Proxy "%s";\nAcquire::https::Proxy "%s";\n' "${http_proxy:-}" "${https_proxy:-}" |
      write_private /etc/apt/apt.conf.d/90-vnfkit-proxy
  fi
  apt update
  apt install $missing
}

# The pause image is that of kubeadm: containerd's own default may be missing on a machine without access to public registries.
configure_containerd() {
  local image pause=""
  for image in $(kubeadm config images list --kubernetes-version "$(kubeadm version -o short)"); do
    case $image in */pause:*) pause=$image ;; esac
  done
  write /etc/containerd/config.toml <<EOF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause"
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = true
EOF
  local registries=${HTTP_PRIVATE_REGISTRIES:-}
  registries=${registries//\"/}
  for registry in ${registries//,/ }; do
    printf '[host."http://%s"]\n  capabilities = ["pull", "resolve"]\n' "$registry" | write "/etc/containerd/certs.d/$registry/hosts.toml"
  done
  if [ -n "${http_proxy:-}${https_proxy:-}" ]; then
    printf '[Service]\nEnvironment="HTTP_PROXY=%s" "HTTPS_PROXY=%s" "NO_PROXY=%s"\n' \
      "${http_proxy:-}" "${https_proxy:-}" "${no_proxy:-}" | write_private /etc/systemd/system/containerd.service.d/proxy.conf
    as_root systemctl daemon-reload
  fi
  as_root systemctl enable containerd kubelet
  as_root systemctl restart containerd
}

# With several control-plane nodes each runs haproxy on port 16443 before all API
# servers, and keepalived moves the virtual address to a node that lives.
configure_endpoint() {
  [ "$port" = 16443 ] || return 0
  {
    printf 'defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 4h\n    timeout server 4h\n'
    printf 'frontend kubernetes-apiserver\n    bind *:16443\n    default_backend kubernetes-apiserver\n'
    printf 'backend kubernetes-apiserver\n    balance roundrobin\n'
    for ip in ${masters//,/ }; do printf '    server  master%s  %s:6443 check\n' "${ip##*.}" "$ip"; done
  } | write /etc/haproxy/haproxy.cfg
  local device="" route
  route=$(ip -o -4 addr show to "$own")
  read -r _ device _ <<<"$route"
  printf 'vrrp_instance kubernetes {\n    state BACKUP\n    interface %s\n    virtual_router_id 51\n    priority %s\n    virtual_ipaddress {\n        %s\n    }\n}\n' \
    "$device" "$((250 - ${own##*.} % 100))" "$address" | write /etc/keepalived/keepalived.conf
  as_root systemctl enable haproxy keepalived
  as_root systemctl restart haproxy keepalived
}

use_admin_conf() {
  mkdir -p "$HOME/.kube"
  as_root cat /etc/kubernetes/admin.conf >"$HOME/.kube/config"
  chmod 600 "$HOME/.kube/config"
}

init_cluster() {
  [ -f /etc/kubernetes/admin.conf ] || as_root kubeadm init --node-name "$name" --apiserver-advertise-address "$own" \
    --control-plane-endpoint "$address:$port" --pod-network-cidr "$pod_cidr" --service-cidr "$service_cidr" --upload-certs
  use_admin_conf
  local cni=${CNI_MANIFEST:-/tmp/cni.yaml}
  [ ! -f "$cni" ] || kubectl apply -f "$cni"
}

join_cluster() {
  [ -f /etc/kubernetes/kubelet.conf ] || as_root kubeadm join "$address:$port" --node-name "$name" --token "$token" \
    --discovery-token-ca-cert-hash "sha256:$ca_hash" "$@"
}

# report prints what the other nodes need to join.
report() {
  local join hash certs
  join=$(as_root kubeadm token create --print-join-command)
  token=${join#*--token } hash=${join#*--discovery-token-ca-cert-hash sha256:}
  certs=$(as_root kubeadm init phase upload-certs --upload-certs)
  echo "token:${token%% *}"
  echo "server:https://$address:$port"
  as_root cat /etc/kubernetes/pki/ca.crt
  echo "ssl_ca_cert_hash:${hash%% *}"
  echo "certificate_key:${certs##*$'\n'}"
}

prepare >&2
install_packages >&2
configure_containerd >&2
if [ "$role" = worker ]; then
  join_cluster >&2
elif [ -n "$token" ]; then
  configure_endpoint >&2
  join_cluster --control-plane --certificate-key "$cert_key" --apiserver-advertise-address "$own" >&2
  use_admin_conf
else
  configure_endpoint >&2
  init_cluster >&2
  report
fi
echo "Install Success!"
