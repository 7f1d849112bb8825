package kubeadm

import (
	"encoding/json"
	"errors"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// changeable are the patterns of parameters of the cluster that a change of the package may change: they have an effect on the operation, or on
// nodes that join from then on.
var changeable = []string{"drain_policy", "ignore_preflight_errors", "external_lb_param.ssh_*", "storage_server.username", "storage_server.password",
	"storage_server.private_key", "storage_server.passphrase", "storage_server.host_keys", "*_node.username", "*_node.password", "*_node.private_key",
	"*_node.passphrase", "*_node.host_keys"}

// renameable are parameters with the path of a file of the package that the new package may have elsewhere.
var renameable = []string{"script_path", "helm_installation_script_path", "external_lb_param.script_path"}

// otherWays name, by pattern, the operations that change other parameters of a running cluster.
var otherWays = []struct{ pattern, way string }{
	{"kubernetes_version", "request the maintenance task upgrade"},
	{"packages*", "give it in a request for the maintenance task upgrade"},
	{"cni_manifest_path", "give it in a request for the maintenance task upgrade after the change, which applies it"},
	{"certificate_validity", "give it in a request for the maintenance task renew_certificates"},
	{registriesParam, "give it in a scale or heal request"},
	{mirrorsParam, "give it in a scale or heal request"},
	{"*_node.labels", "use kubectl label"},
	{"*_node.taints", "use kubectl taint"},
	{"*", "instantiate another VNF with it"},
}

// changeChecks are the names of checks for change_pass_over.
var changeChecks = []string{checkSnapshot}

// changePassOver returns the checks that a request to change the package passes over.
func changePassOver(op *vnflcm.Operation) []string {
	var given struct {
		PassOver []string `json:"change_pass_over"`
	}
	_, _ = op.RequestParams().Decode(&given) // faults are reported by read
	return given.PassOver
}

// checkPackageChange refuses parameters of a change of the package that have no effect on a running cluster.
func (p *parameters) checkPackageChange(op *vnflcm.Operation) error {
	if op.ChangeVnfPkg == nil || op.Former == nil {
		return nil
	}
	c := newChecker(op)
	was, given := leavesOf(op.Former.Initial.AdditionalParams), leavesOf(op.RequestParams())
	was["kubernetes_version"] = p.versions.from
	for _, name := range slices.Sorted(maps.Keys(given)) {
		_, had := was[name]
		renamed := had && given[name] != nil && slices.Contains(renameable, name)
		if !renamed && !matches(changeable, name) && !reflect.DeepEqual(was[name], given[name]) {
			c.Fault(name, "", "has no effect on a running cluster in a change of the package: "+otherWay(name))
		}
	}
	var unknown error
	for _, name := range changePassOver(op) {
		if !slices.Contains(changeChecks, name) {
			unknown = errors.Join(unknown, &vnflcm.ParamError{Path: "additionalParams.change_pass_over", Value: name, Reason: "is no check of a change of the package: there are " + strings.Join(changeChecks, ", ")})
		}
	}
	return errors.Join(unknown, vnflcm.AtPath(clusterPath, c.Err()), checkProperties(op.ChangeVnfPkg.VnfConfigurableProperties))
}

// checkProperties refuses the property that starts an upgrade.
func checkProperties(properties vnflcm.Params) error {
	var given struct {
		Version string `json:"kubernetes_version"`
	}
	if _, err := properties.Decode(&given); err != nil || given.Version == "" {
		return err
	}
	return &vnflcm.ParamError{Path: "vnfConfigurableProperties.kubernetes_version", Value: given.Version,
		Reason: "starts an upgrade: change it by a PATCH of the VNF instance, before or after the change of the package"}
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		found, _ := path.Match(pattern, name) // the patterns are correct
		return found
	})
}

// otherWay names the operation that changes a parameter.
func otherWay(name string) string {
	i := slices.IndexFunc(otherWays, func(w struct{ pattern, way string }) bool { return matches([]string{w.pattern}, name) })
	return otherWays[i].way
}

// leavesOf returns the parameters of the cluster in additionalParams by name, and attributes of objects as object.attribute.
func leavesOf(params vnflcm.Params) map[string]any {
	var request struct {
		Cluster map[string]any `json:"k8s_cluster_installation_param"`
	}
	_ = json.Unmarshal(params.Reveal(), &request) // read reports the error
	out := map[string]any{}
	for name, value := range request.Cluster {
		object, isObject := value.(map[string]any)
		if !isObject {
			out[name] = value
		}
		for attribute, inner := range object {
			out[name+"."+attribute] = inner
		}
	}
	return out
}
