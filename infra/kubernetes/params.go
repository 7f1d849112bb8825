package kubernetes

import (
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// params are the additionalParams of all requests that this driver reads, under Tacker's names if it has them.
type params struct {
	Namespace string   `json:"namespace"`                // default: that of the VIM, else "default"; created if it does not exist
	Files     []string `json:"lcm-kubernetes-def-files"` // manifests in the package

	paramsV1
	paramsV2
	paramsMCIOP
	paramsOfOperations

	// ExternalLB belongs to the management driver that exposes services (mgmt/loadbalancer/expose). It is listed here
	// so that it does not count as unknown.
	ExternalLB map[string]any `json:"lcm-kubernetes-external-lb"`
}

// paramsV1 are the parameters of charts in version 1 of Tacker's API and in the specification of charts.
type paramsV1 struct {
	UseHelm       bool                  `json:"use_helm"`
	Install       []installParam        `json:"using_helm_install_param"`
	ReplicaValues map[string]string     `json:"helm_replica_values"` // aspect: name of the value that counts pods
	VDUMapping    map[string]vduMapping `json:"vdu_mapping"`
}

// installParam is one release.
type installParam struct {
	External       *bool    `json:"exthelmchart"`
	ChartFile      string   `json:"helmchartfile_path"`
	Release        string   `json:"helmreleasename"`
	Parameters     []string `json:"helmparameter"`
	Repository     string   `json:"helmrepositoryname"`
	RepositoryTypo string   `json:"helmrepostitoryname"` // the specification's table has this spelling
	Chart          string   `json:"helmchartname"`
	URL            string   `json:"exthelmrepo_url"`

	// Extensions of Tacker's format.
	Texts      []string      `json:"helmstringparameter"` // as helmparameter, but all values are texts
	Version    string        `json:"helmchartversion"`    // or a range; default: the newest that is not a pre-release
	ValueFiles []string      `json:"helmvaluesfile_path"` // YAML files in the package; later files override earlier ones
	Wait       bool          `json:"helmwait"`            // wait until all objects of this release are ready before the next one is installed
	Username   string        `json:"exthelmrepo_username"`
	Password   vnflcm.Secret `json:"exthelmrepo_password"`
	CA         string        `json:"exthelmrepo_ca_cert"` // PEM
}

// vduMapping names the workload of a VDU.
type vduMapping struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Release string `json:"helmreleasename"`
}

// paramsV2 are the parameters of charts in version 2 of Tacker's API: one chart, in the package.
type paramsV2 struct {
	ChartPath  string                `json:"helm_chart_path"`
	Parameters map[string]any        `json:"helm_parameters"`
	ValueNames map[string]valueNames `json:"helm_value_names"` // by VDU
}

// valueNames are the values of the chart that belong to a VDU.
type valueNames struct {
	Replica string `json:"replica"`
}

// paramsOfOperations are parameters of single operations.
type paramsOfOperations struct {
	Eviction       bool     `json:"eviction"`        // heal: pods are evicted, as their disruption budgets allow, instead of deleted
	IgnoreFindings []string `json:"ignore_findings"` // heal of the whole VNF: objects that the cluster would refuse, such as "Deployment shop/web"
	DeletePVC      bool     `json:"delete_pvc"`      // terminate: also delete the volume claims
	ReuseValues    bool     `json:"reuse_values"`    // change of the package: values of the chart before it replace those of the new chart
}

// repositoryAddresses are the attributes with addresses of repositories and registries. helm on a machine connects to them, too.
var repositoryAddresses = []string{"using_helm_install_param[].exthelmrepo_url"}

// SecretParams implements vnflcm.SecretParams.
func (d *Driver) SecretParams() []string { return vnflcm.SecretPaths(params{}) }

// PublicParams implements vnflcm.PublicParams. Values for charts (helmparameter, helmstringparameter) may be secrets and stay masked.
func (d *Driver) PublicParams() []string {
	return slices.DeleteFunc(vnflcm.PublicPaths(params{}), func(path string) bool {
		return strings.Contains(path, "helmparameter") || strings.Contains(path, "helmstringparameter")
	})
}
