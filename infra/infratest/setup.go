package infratest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Setup describes the tests of a driver.
type Setup struct {
	// Open returns a new World. Run calls it for each test, and many tests run at once. A World ends with t.Cleanup.
	Open func(t testing.TB) World
	// Package is the VNF package. Default: one with the flavour "simple", the VDU "server" with the connection point "server_CP", and the
	// aspect "servers" with the levels 0 to 2, where level 0 is one machine. Management drivers that the package names do nothing.
	Package tosca.Source
	// Request instantiates the package; Run adds the VIM. Default: the flavour "simple".
	Request vnflcm.InstantiateVnfRequest
	// Aspect is scaled by one step. Default: the first aspect of the flavour. VNFs without an aspect are not scaled.
	Aspect string
	// Changed is the package that a CHANGE_VNFPKG leads to, if the driver is a vnflcm.PackageChanger; Change has the rest of the request.
	// Default: for the default Package, one whose machines have two CPUs; else the package is not changed.
	Changed tosca.Source
	Change  vnflcm.ChangeCurrentVnfPkgRequest
	// Links are what a CHANGE_EXT_CONN asks for. Without them external connectivity is not changed.
	Links []vnflcm.ExtVirtualLinkData
	// Sample selects one case of each step from the deaths (crashtest.Sample). go test -short does so as well.
	Sample bool

	patience time.Duration // how long an operation may take; default: a minute
}

// World is a VIM. It may have machines and other resources that no VNF of Run owns: they must stay.
type World struct {
	// VIM is the connection to the VIM, with the vimType. Default of VimID: the vimType.
	VIM vnflcm.VimConnectionInfo
	// Driver returns the driver of another process.
	Driver func() vnflcm.InfraDriver
	// Machines returns the resource ids (vnflcm.VNFC.ResourceID) of all machines on the VIM that are ready, without the help of the driver.
	Machines func(ctx context.Context) ([]string, error)
	// EndWithStop says that machines exist only while their VNF is started, as pods do. The driver of such a VIM reports the VNFCs of a stopped
	// VNF as they were.
	EndWithStop bool
	// Others returns a line for each other resource, such as networks, ports, volumes, temporary files and machines that the VIM is making.
	// Default: none.
	Others func(ctx context.Context) ([]string, error)
	// OnChange makes the VIM call before ahead of each change that a driver asks for. If before returns an error, the change has no
	// effect and the driver gets an error. nil ends this. Without OnChange a process dies before and after the steps only, and an
	// operation is cancelled when its first step begins.
	OnChange func(before func() error)
	// Stall makes the VIM accept changes and not finish them, until Stall is called with false: new machines do not become ready, and
	// removed ones do not disappear. It is for VIMs that answer before a change is finished. Without Stall, Run does not find a driver that
	// ignores its context while it waits.
	Stall func(stalled bool)
}

// newSimple makes the default of Setup.Changed.
var newSimple = strings.NewReplacer("4f4d2d2c-5f5c-4a4b-8a58-3b8f0f1d7c11", "4f4d2d2c-5f5c-4a4b-8a58-3b8f0f1d7c12",
	"software_version: '1.0'", "software_version: '2.0'", "num_virtual_cpu: 1", "num_virtual_cpu: 2")

// simple is the default of Setup.Package.
const simple = `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [etsi_nfv_sol001_vnfd_types.yaml]
metadata: {template_name: infratest, template_author: vnfkit, template_version: '1.0'}
node_types:
  infratest.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: infratest.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: infratest.VNF
      properties:
        {descriptor_id: 4f4d2d2c-5f5c-4a4b-8a58-3b8f0f1d7c11, descriptor_version: '1.0', provider: vnfkit, product_name: infratest, software_version: '1.0',
         vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: machines}
    server:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: server, description: a machine, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}
      capabilities:
        virtual_compute:
          properties: {virtual_memory: {virtual_mem_size: 1 GiB}, virtual_cpu: {num_virtual_cpu: 1}}
    server_CP:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4], order: 0}
      requirements: [virtual_binding: server]
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties: {aspects: {servers: {name: servers, description: number of servers, max_scale_level: 2, step_deltas: [one]}}}
    - first:
        type: tosca.policies.nfv.VduInitialDelta
        targets: [server]
        properties: {initial_delta: {number_of_instances: 1}}
    - more:
        type: tosca.policies.nfv.VduScalingAspectDeltas
        targets: [server]
        properties: {aspect: servers, deltas: {one: {number_of_instances: 1}}}
`
