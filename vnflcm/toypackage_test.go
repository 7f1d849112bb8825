package vnflcm_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const toyVNFD = "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177"

// clusterHooks are the hooks of the flavours of the toy package. "plain" is rolled back with the hooks of the inverse operations, "undo"
// has rollback hooks, "bare" has no hooks.
var clusterHooks = map[string][]string{
	"plain": {"instantiate_end", "scale_start", "scale_end", "heal_start", "heal_end", "terminate_start", "modify_information_end"},
	"undo": {"instantiate_end", "scale_start", "scale_end", "heal_start", "heal_end", "terminate_start",
		"instantiate_rollback_start", "scale_rollback_start"},
	"bare": nil,
}

const toyTop = `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [%s]
node_types:
  toy.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  node_templates:
    VNF:
      type: toy.VNF
      properties:
        descriptor_id: ` + toyVNFD + `
        descriptor_version: '1.0'
        provider: Toys
        product_name: Toy cluster
        software_version: '1.2'
        vnfm_info: ['0:vnfkit']
`

const toyFlavour = `tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings: {node_type: toy.VNF, properties: {flavour_id: %[1]s}}
  node_templates:
    VNF:
      type: toy.VNF
      properties: {flavour_id: %[1]s, flavour_description: a toy}
      artifacts:
        %[2]s: {type: tosca.artifacts.Implementation.Python, file: driver.py}
      interfaces:
        Vnflcm:
%[3]s
    master:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: master, description: master, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}
    worker:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: worker, description: worker, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 5}}
    worker_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: worker]
    master_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: master]
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties:
          aspects:
            masters: {name: masters, description: masters, max_scale_level: 1, step_deltas: [two]}
            workers: {name: workers, description: workers, max_scale_level: 4, step_deltas: [one]}
    - masters_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [master], properties: {initial_delta: {number_of_instances: 1}}}
    - workers_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [worker], properties: {initial_delta: {number_of_instances: 1}}}
    - masters_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [master], properties: {aspect: masters, deltas: {two: {number_of_instances: 2}}}}
    - workers_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [worker], properties: {aspect: workers, deltas: {one: {number_of_instances: 1}}}}
    - levels:
        type: tosca.policies.nfv.InstantiationLevels
        properties:
          default_level: small
          levels:
            small: {description: small, scale_info: {masters: {scale_level: 0}, workers: {scale_level: 1}}}
            large: {description: large, scale_info: {masters: {scale_level: 1}, workers: {scale_level: 2}}}
            odd: {description: what it says of the workers is not what its scale levels give, scale_info: {workers: {scale_level: 1}}}
    - odd_workers: {type: tosca.policies.nfv.VduInstantiationLevels, targets: [worker], properties: {levels: {odd: {number_of_instances: 3}}}}
`

// toyFS returns the toy package: masters and workers in these flavours (default: all). All hooks name the driver.
func toyFS(driver string, flavours ...string) fstest.MapFS {
	files, names := fstest.MapFS{}, []string{}
	for _, flavour := range slices.Sorted(maps.Keys(clusterHooks)) {
		hooks := clusterHooks[flavour]
		if len(flavours) > 0 && !slices.Contains(flavours, flavour) {
			continue
		}
		var operations strings.Builder
		for _, hook := range hooks {
			fmt.Fprintf(&operations, "          %s: {implementation: %s}\n", hook, driver)
		}
		if len(hooks) == 0 {
			operations.WriteString("          instantiate: []\n")
		}
		names = append(names, flavour+".yaml")
		files["Definitions/"+flavour+".yaml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(toyFlavour, flavour, driver, operations.String()))}
	}
	files["Definitions/top.yaml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(toyTop, strings.Join(names, ", ")))}
	files["Definitions/driver.py"] = &fstest.MapFile{Data: []byte("# a toy\n")}
	files["TOSCA-Metadata/TOSCA.meta"] = &fstest.MapFile{Data: []byte(
		"TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: toys\nEntry-Definitions: Definitions/top.yaml\n")}
	return files
}

var parsedToys sync.Map // driver and flavours to func() vnflcm.Packages

// toyPackage returns Packages with the toy package with this driver and these flavours. All tests share the parsed package, because parsing
// would take a tenth of their time under the race detector.
func toyPackage(driver string, flavours ...string) vnflcm.Packages {
	open, _ := parsedToys.LoadOrStore(fmt.Sprint(driver, flavours), sync.OnceValue(func() vnflcm.Packages { return toyPackages(toyFS(driver, flavours...)) }))
	return open.(func() vnflcm.Packages)()
}

// inBubble runs a test in a bubble of synctest. It parses the shared packages before, because their cache must not hold a channel of a
// bubble.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, packages := range []vnflcm.Packages{toyPackage("cluster"), parsedPlain()} {
		pkg, err := packages.Open(t.Context(), "", toyVNFD, "")
		must(t, err)
		must(t, pkg.Close())
	}
	synctest.Test(t, test)
}

// toyPackages returns Packages with one package, whose files the test may change.
func toyPackages(files fstest.MapFS) vnflcm.Packages {
	return vnflcm.PackagesFunc(func(_ context.Context, _, vnfdID string) (tosca.Source, error) {
		if vnfdID != toyVNFD {
			return tosca.Source{}, vnflcm.ErrNotFound
		}
		return tosca.FS(files), nil
	})
}
