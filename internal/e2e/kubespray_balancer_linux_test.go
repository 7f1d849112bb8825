package e2e_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
)

const balancerVDU = "externalLB"

// balancers lets load balancers be machines without haproxy, which they get from the repository of packages.
func (y *yard) balancers() {
	repositories, key := serveRepositories(y.t, y.parts), read(y.t, y.parts.Key())
	y.machines.Change = func(m vminfra.Machine, spec *vmhost.Spec) {
		if m.VDU == balancerVDU {
			spec.Data = nil
			bare(y.parts, repositories, key, spec)
		}
	}
}

// balancerScript is where a package has balancerInstaller.
const balancerScript = "Scripts/balancer.sh"

// balancerInstaller does what Tacker's script for the load balancer does: it writes haproxy.cfg and has haproxy serve the API at the
// port that the driver uses later. It keeps what it was told.
const balancerInstaller = `#!/bin/bash
set -o xtrace
while getopts dom:w: OPT; do
    case $OPT in
    m) MASTER_IPS=(${OPTARG//,/ }) ;;
    w) WORKER_IPS=(${OPTARG//,/ }) ;;
    esac
done
echo "$(id -un) $*" >>~/told
sudo apt-get update
sudo DEBIAN_FRONTEND=noninteractive http_proxy=${http_proxy:-} https_proxy=${https_proxy:-} no_proxy=${no_proxy:-} \
    apt-get --option "Dpkg::Options::=--force-confold" --assume-yes install haproxy </dev/null || exit 1
cat <<EOF | sudo tee -a /etc/haproxy/haproxy.cfg >/dev/null
frontend kubernetes-apiserver
    mode                 tcp
    bind                 *:8383
    default_backend      kubernetes-apiserver
backend kubernetes-apiserver
    mode        tcp
EOF
for ip in ${MASTER_IPS[@]}; do
    parts=(${ip//./ })
    echo "    server  master${parts[3]} $ip:6443 check" | sudo tee -a /etc/haproxy/haproxy.cfg >/dev/null
done
sudo systemctl enable haproxy
sudo systemctl restart haproxy
ss -lnt | grep 8383
`

// wantScriptRun checks that balancerInstaller was run on the load balancer once, as the login user, with Tacker's arguments.
func (y *yard) wantScriptRun(id string) {
	y.t.Helper()
	addresses := func(vdu string) string {
		var all []netip.Addr
		for _, v := range y.vnfcs(id, vdu) {
			all = append(all, y.machines.Host(v.ComputeResource.ResourceID).Address)
		}
		slices.SortFunc(all, netip.Addr.Compare)
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ",")
	}
	told, err := y.on(y.vnfcs(id, balancerVDU)[0], "cat", "/home/"+user+"/told")
	if diff := cmp.Diff(fmt.Sprintf("%s -m %s -w %s\n", user, addresses(masterVDU), addresses(workerVDU)), told); diff != "" || err != nil {
		y.t.Errorf("the script of the load balancer: %v\n%s", err, diff)
	}
}
