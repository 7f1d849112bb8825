package tackertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// VDU of a CNF: its id, and the name of its workload.
type VDU struct{ ID, Name string }

// CNF is the VNF package of a CNF with 1 to 3 pods of each VDU, whose aspects are named after the VDUs: vdu1_aspect for VDU1. Its
// flavour is simple.
type CNF struct {
	VNFD  string // its id
	VDUs  []VDU
	Files map[string]string // charts and manifests, by path
	// Driver is the name of the driver of Hooks, which the VNFD names.
	Driver string
	Hooks  []string
}

// Write writes the package into a folder.
func (c CNF) Write(folder string) error {
	all := map[string]string{
		"TOSCA-Metadata/TOSCA.meta": "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: vnfkit\nEntry-Definitions: Definitions/vnfd.yaml\n",
		"Scripts/driver.txt":        "the driver is part of the VNFM\n",
		"Definitions/vnfd.yaml":     c.vnfd(),
	}
	maps.Copy(all, c.Files)
	var errs []error
	for name, text := range all {
		name = filepath.Join(folder, filepath.FromSlash(name))
		errs = append(errs, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600))
	}
	return errors.Join(errs...)
}

func (c CNF) vnfd() string {
	var templates, aspects, policies, interfaces strings.Builder
	for _, v := range c.VDUs {
		aspect := strings.ToLower(v.ID) + "_aspect"
		fmt.Fprintf(&templates, "    %s:\n      type: tosca.nodes.nfv.Vdu.Compute\n      properties: {name: %s, description: pods, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}\n", v.ID, v.Name)
		fmt.Fprintf(&aspects, "            %s: {name: %[1]s, description: pods, max_scale_level: 2, step_deltas: [delta_1]}\n", aspect)
		fmt.Fprintf(&policies, "    - %s_initial: {type: tosca.policies.nfv.VduInitialDelta, properties: {initial_delta: {number_of_instances: 1}}, targets: [%[1]s]}\n", v.ID)
		fmt.Fprintf(&policies, "    - %s_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, properties: {aspect: %s, deltas: {delta_1: {number_of_instances: 1}}}, targets: [%[1]s]}\n", v.ID, aspect)
	}
	for _, hook := range c.Hooks {
		fmt.Fprintf(&interfaces, "          %s: {implementation: %s}\n", hook, c.Driver)
	}
	driver := ""
	if len(c.Hooks) > 0 {
		driver = "      interfaces:\n        Vnflcm:\n" + interfaces.String() + "      artifacts: {" + c.Driver + ": {type: tosca.artifacts.Implementation.Python, file: ../Scripts/driver.txt}}\n"
	}
	return "tosca_definitions_version: tosca_simple_yaml_1_2\n" +
		"imports: [etsi_nfv_sol001_common_types.yaml, etsi_nfv_sol001_vnfd_types.yaml]\n" +
		"node_types: {company.VNF: {derived_from: tosca.nodes.nfv.VNF}}\n" +
		"topology_template:\n  substitution_mappings: {node_type: company.VNF, properties: {flavour_id: simple}}\n  node_templates:\n    VNF:\n      type: company.VNF\n" +
		"      properties: {descriptor_id: " + c.VNFD + ", descriptor_version: '1.0', provider: Company, product_name: Sample VNF, software_version: '1.0', vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: pods}\n" +
		driver + templates.String() +
		"  policies:\n    - aspects:\n        type: tosca.policies.nfv.ScalingAspects\n        properties:\n          aspects:\n" + aspects.String() + policies.String()
}

// Chart is the archive of a chart with a Deployment for each of the values that count pods. Their names end in the suffixes.
func Chart(name string, deployments map[string]string) (string, error) {
	files := map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n",
		"values.yaml": "replicaCount: 1\nreplicaCountVdu1: 1\nreplicaCountVdu2: 1\nservice: {type: ClusterIP, port: 80}\n",
		"templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: '{{ .Release.Name }}'}\n" +
			"spec: {type: '{{ .Values.service.type }}', selector: {release: '{{ .Release.Name }}'}, ports: [{port: {{ .Values.service.port }}}]}\n",
	}
	for workload, value := range deployments {
		files["templates/"+value+".yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '" + workload + "'}\nspec:\n  replicas: {{ .Values." + value + " }}\n" +
			"  selector: {matchLabels: {app: '" + workload + "'}}\n  template:\n    metadata: {labels: {app: '" + workload + "', release: '{{ .Release.Name }}'}}\n" +
			"    spec: {containers: [{name: web, image: nginx}]}\n"
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	archive := tar.NewWriter(packed)
	var errs []error
	for file, text := range files {
		errs = append(errs, archive.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		errs = append(errs, err)
	}
	err := errors.Join(append(errs, archive.Close(), packed.Close())...)
	return out.String(), err
}
