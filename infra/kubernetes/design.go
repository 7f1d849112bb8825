package kubernetes

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// design is the content of the requests, in either version. It is derived only from the request that the VNF was
// instantiated with, the package and the current request.
type design struct {
	params
	unknown   []string // attributes that have no effect
	idle      []idle   // known ones that have no effect in this request
	syntax    faults   // settings that Helm cannot read. Only an instantiation is refused: what was stored before can be removed
	version2  bool     // charts as in version 2 of Tacker's API
	byMCIOPs  bool     // charts are the MCIOPs of the VNFD
	namespace string
	pkg       fs.FS          // the package of the files below
	releases  []release      // charts
	files     []string       // or manifests
	vdus      map[string]vdu // by id
}

// release is a chart that is installed under a name.
type release struct {
	name       string
	path       string   // of its attributes, for faults
	vdus       []string // that the VNFD associates with the MCIOP; empty: the release is not of an MCIOP
	chart      source
	valueFiles []string
	values     map[string]any // of an MCIOP; override those of the files
	set        []string       // Helm's grammar
	setString  []string
	setJSON    []string
	attributes map[string][]string // that the texts come from, by the field of helmclient.Values
	wait       bool                // until all its objects are ready, before the next release is installed
}

// source is where a chart comes from.
type source struct {
	file       string // in the package
	pkg        fs.FS
	ref        string // "repository/chart" or "oci://…"
	version    string
	repository *helmclient.Repository // that ref names
	access     helmclient.Access      // of an oci:// ref
}

// String returns what the request says about a chart outside of the package, without credentials.
func (s source) String() string {
	url := ""
	if s.repository != nil {
		url = s.repository.URL + " "
	}
	return url + s.ref + " " + s.version
}

// vdu says how a VDU is found on the cluster and resized.
type vdu struct {
	mapping vduMapping // empty: found by labels and names
	// value is the value of a chart that counts the pods, and release the release that has it. Empty: the workload is
	// scaled.
	value, release string
}

// faults collects the faults of additionalParams.
type faults struct{ list []error }

func (f *faults) add(path, value, reason string) {
	f.list = append(f.list, &vnflcm.ParamError{Path: "additionalParams." + path, Value: value, Reason: reason})
}

func (f *faults) err() error { return errors.Join(f.list...) }

// charts reports whether the VNF consists of charts. extra.use_helm of a VIM concerns only version 2 of Tacker's API: version 1
// uses the same VIM for manifests.
func (p *params) charts(vim vnflcm.VimConnectionInfo) bool {
	var extra struct {
		UseHelm bool `json:"use_helm"`
	}
	_, err := vim.Extra.Decode(&extra)
	return p.UseHelm || vim.VimType == VimTypeHelm || err == nil && extra.UseHelm && p.ChartPath != ""
}

// read makes the design of an operation, and reports every fault of its additionalParams.
func read(op *vnflcm.Operation) (*design, error) {
	d := &design{vdus: map[string]vdu{}, pkg: op.Package}
	var err error
	if d.unknown, err = op.Params.Decode(&d.params); err != nil {
		return nil, vnflcm.AtPath("additionalParams", err)
	}
	f := &faults{}
	d.namespace = d.Namespace
	if err := (helmclient.Name{Namespace: d.namespace, Release: "x"}).Validate(); err != nil {
		f.add("namespace", d.namespace, "must be at most 63 lower case letters, digits and '-', beginning and ending with a letter or digit")
	}
	d.byMCIOPs = d.usesMCIOPs(op.Flavour)
	if !d.byMCIOPs {
		d.refuseMCIOPs(f, op.Flavour)
	}
	switch {
	case d.byMCIOPs:
		d.readMCIOPs(f, op)
	case d.charts(op.VIM):
		d.readCharts(f, op)
	case len(d.Install) > 0 || d.ChartPath != "":
		f.add("use_helm", "", "must be true when there are charts")
	case len(d.Files) == 0:
		f.add("lcm-kubernetes-def-files", "", "is required: a list of manifests in the package, unless use_helm is true")
	default:
		d.readManifests(f, op)
	}
	d.readMapping(f, op)
	d.findIdle()
	for i := range d.releases {
		d.releases[i].chart.pkg = d.pkg
	}
	return d, f.err()
}

func (d *design) readCharts(f *faults, op *vnflcm.Operation) {
	if len(d.Files) > 0 {
		f.add("lcm-kubernetes-def-files", "", "cannot be combined with charts (use_helm): a VNF consists of either charts or manifests")
	}
	d.version2 = d.ChartPath != "" || op.VIM.VimType == VimTypeHelm && len(d.Install) == 0
	if d.version2 {
		d.readV2(f, op)
	} else {
		d.readV1(f, op)
	}
}

func (d *design) readManifests(f *faults, op *vnflcm.Operation) {
	d.files = d.Files
	for i, name := range d.files {
		if _, err := manifest(op.Package, name); err != nil {
			f.add(fmt.Sprintf("lcm-kubernetes-def-files[%d]", i), name, err.Error())
		}
	}
}

// readMapping checks vdu_mapping, which applies to charts and manifests.
func (d *design) readMapping(f *faults, op *vnflcm.Operation) {
	for _, id := range sortedKeys(d.VDUMapping) {
		m, path := d.VDUMapping[id], "vdu_mapping."+id
		if op.Flavour.VDU(id) == nil {
			f.add(path, id, "is no VDU of the flavour "+op.Flavour.ID)
			continue
		}
		if m.Name == "" {
			f.add(path+".name", "", "is required: the name of the workload")
		}
		if m.Kind == "" {
			f.add(path+".kind", "", "is required: the kind of the workload, such as Deployment")
		}
		if m.Release != "" && !d.has(m.Release) {
			f.add(path+".helmreleasename", m.Release, "is not a release of using_helm_install_param")
		}
		v := d.vdus[id]
		v.mapping = m
		d.vdus[id] = v
	}
}

func (d *design) has(name string) bool { return d.release(name) != nil }

func (d *design) release(name string) *release {
	for i := range d.releases {
		if d.releases[i].name == name {
			return &d.releases[i]
		}
	}
	return nil
}

// releaseNameV2 is the only release name of version 2 of Tacker's API.
func releaseNameV2(instanceID string) string { return "vnf" + strings.ReplaceAll(instanceID, "-", "") }
