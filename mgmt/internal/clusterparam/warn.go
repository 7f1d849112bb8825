package clusterparam

import (
	"context"
	"net/netip"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Path is the path of the parameters of a cluster in a request.
const Path = "additionalParams.k8s_cluster_installation_param"

// Warn logs parameters that are accepted but not used as given: unknown attributes, host bits of networks, networks of a
// running cluster that contain machines, and a proxy with only one of its two URLs. empty points to an empty struct of the
// parameters.
func Warn(ctx context.Context, op *vnflcm.Operation, empty any, podCIDR, clusterCIDR string, proxy mgmt.Proxy) {
	unknown, _ := op.Params.Decode(empty) // the error is reported by the code that reads the parameters
	for _, name := range unknown {
		if name == "all" && op.Heal != nil {
			continue // read by the infrastructure driver
		}
		op.Log.WarnContext(ctx, "attribute is not known and has no effect", "attribute", "additionalParams."+name)
	}
	for _, n := range []struct{ name, given string }{{"pod_cidr", podCIDR}, {"cluster_cidr", clusterCIDR}} {
		if prefix, err := netip.ParsePrefix(n.given); err == nil && prefix != prefix.Masked() {
			op.Log.WarnContext(ctx, "network has host bits set; they are masked", "attribute", Path+".master_node."+n.name,
				"given", n.given, "used", prefix.Masked())
		}
		if machine, found := machineIn(op, n.given); found && op.Kind != vnflcm.OpInstantiate {
			op.Log.WarnContext(ctx, "network of the cluster contains the address of a machine", "attribute", Path+".master_node."+n.name,
				"network", n.given, "address", machine)
		}
	}
	if !proxy.Used() && (!proxy.HTTPProxy.IsZero() || !proxy.HTTPSProxy.IsZero()) {
		op.Log.WarnContext(ctx, "the proxy is not used: it takes both http_proxy and https_proxy", "attribute", Path+".proxy")
	}
}
