#!/bin/bash
# A node script by Tacker's contract, written with what such scripts use: xtrace, sed -i, awk, wget, grep -oP and process
# substitution. REPOSITORY is replaced by the address of the package sources.
#   -m IPS -i ADDRESS -p POD_CIDR -a SERVICE_CIDR [-t TOKEN -s CA_HASH -k CERTIFICATE_KEY]    control-plane node
#   -w OWN_IP -i ADDRESS -t TOKEN -s CA_HASH                                                  worker
# The control-plane node whose address is the first one makes the cluster.
set -o xtrace -o errexit -o pipefail
repository=REPOSITORY
masters= worker= address= pod_cidr= service_cidr= token= hash= key=
while getopts m:w:i:a:p:t:s:k: option; do
  case $option in
    m) masters=$OPTARG ;;
    w) worker=$OPTARG ;;
    i) address=$OPTARG ;;
    a) service_cidr=$OPTARG ;;
    p) pod_cidr=$OPTARG ;;
    t) token=$OPTARG ;;
    s) hash=$OPTARG ;;
    k) key=$OPTARG ;;
  esac
done
first=${masters%%,*}
own=$worker role=worker
if [[ -n $masters ]]; then
  role=master
  own=$(comm -12 <(tr , '\n' <<<"$masters" | sort) <(ip -4 addr | grep -oP '(?<=inet\s)\d+(\.\d+){3}' | sort) | head -1)
fi
port=6443
[[ $ha_flag == False ]] || port=16443

function prepare {
  sudo hostnamectl set-hostname "$role$(awk -F. '{print $4}' <<<"$own")"
  sudo sed -i -e '/swap/s/^/#/' /etc/fstab
  sudo swapoff -a
  echo 'net.ipv4.ip_forward = 1' | sudo tee /etc/sysctl.d/k8s.conf
  sudo sysctl -p /etc/sysctl.d/k8s.conf
}

function install_packages {
  local version pause
  version=$(wget -qO- "$repository/kubernetes/Packages" | awk '$1 == "Package:" { package = $2 } $1 == "Version:" && package == "kubeadm" { print $2 }')
  echo "deb [signed-by=/etc/apt/keyrings/distribution.asc] $repository/kubernetes/ /" | sudo tee /etc/apt/sources.list.d/kubernetes.list
  sudo apt-get update
  sudo DEBIAN_FRONTEND=noninteractive apt-get --assume-yes install containerd conntrack haproxy keepalived "kubelet=$version" "kubeadm=$version" "kubectl=$version"
  containerd config default | sudo tee /etc/containerd/config.toml >/dev/null
  pause=$(kubeadm config images list --kubernetes-version "v${version%-*}" | grep pause:)
  sudo sed -i -e 's/SystemdCgroup = false/SystemdCgroup = true/' -e "s,sandbox_image = .*,sandbox_image = \"$pause\"," /etc/containerd/config.toml
  sudo systemctl restart containerd
  sudo systemctl enable kubelet
}

function balance {
  local ip index=0 priority=100
  {
    printf 'defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 4h\n  timeout server 4h\n'
    printf 'frontend api\n  bind *:16443\n  default_backend api\nbackend api\n  balance roundrobin\n  option redispatch\n'
    while read -r ip; do
      printf '  server %s %s:6443 check\n' "master${ip##*.}" "$ip"
    done < <(tr , '\n' <<<"$masters")
  } | sudo tee /etc/haproxy/haproxy.cfg
  while read -r ip; do
    index=$((index + 1))
    [[ $ip != "$own" ]] || priority=$((103 - index))
  done < <(tr , '\n' <<<"$masters")
  sudo tee /etc/keepalived/keepalived.conf <<EOF
vrrp_instance VRRP1 {
  state BACKUP
  interface $(ip -o -4 addr | awk -v own="$own" 'index($4, own "/") == 1 { print $2 }')
  virtual_router_id 51
  priority $priority
  advert_int 1
  virtual_ipaddress {
    $address
  }
}
EOF
  sudo systemctl enable haproxy keepalived
  sudo systemctl restart haproxy keepalived
}

function use_kubectl {
  mkdir -p "$HOME/.kube"
  sudo /bin/cp -f /etc/kubernetes/admin.conf "$HOME/.kube/config"
  sudo chown "$(id -u):$(id -g)" "$HOME/.kube/config"
}

echo "Start install to $role node"
prepare
install_packages
[[ $role$port != master16443 ]] || balance
if [[ $role == worker ]]; then
  sudo kubeadm join "$address:$port" --token "$token" --discovery-token-ca-cert-hash "sha256:$hash"
elif [[ $own == "$first" ]]; then
  sudo kubeadm init --pod-network-cidr="$pod_cidr" --service-cidr="$service_cidr" --control-plane-endpoint "$address:$port" --upload-certs
  use_kubectl
  token=$(sudo kubeadm token create)
  echo "token:$token"
  echo "server:$(kubectl cluster-info | sed 's,\x1B\[[0-9;]*[a-zA-Z],,g' | grep 'control plane' | awk '{print $NF}')"
  cat /etc/kubernetes/pki/ca.crt
  echo "ssl_ca_cert_hash:$(openssl x509 -pubkey -in /etc/kubernetes/pki/ca.crt | openssl rsa -pubin -outform der 2>/dev/null | openssl dgst -sha256 -hex | sed 's/^.* //')"
  echo "certificate_key:$(sudo kubeadm init phase upload-certs --upload-certs)"
else
  sudo kubeadm join "$address:$port" --token "$token" --discovery-token-ca-cert-hash "sha256:$hash" --control-plane --certificate-key "$key"
  use_kubectl
fi
echo "Install Success!"
