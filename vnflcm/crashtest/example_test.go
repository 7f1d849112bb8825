package crashtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A driver that makes a server without a look at whether it is there makes two of them, when its process dies before
// it can write down the first.
func Example() {
	ctx := context.Background()
	for _, point := range crashtest.Points {
		world := &cloud{store: store.NewMemory(), careless: true}
		dying := crashtest.New(crashtest.Death{
			Step:  func(s vnflcm.StepInfo) bool { return s.Name == "create-server" },
			Point: point,
			Inside: func(_ vnflcm.StepInfo, die func()) (undo func()) {
				world.created = die
				return func() { world.created = nil }
			},
		})
		opID, err := dying.Run(ctx, world.start(dying.Attach), instantiate)
		if err != nil {
			log.Fatal(err)
		}
		next := world.start(dying.AttachNext)
		if _, err := dying.Resume(ctx, next, opID); err != nil {
			log.Fatal(err)
		}
		fmt.Println(point, len(world.servers))
		_ = next.Close(ctx)
	}
	// Output:
	// before Do 1
	// inside Do 2
	// before the journal 2
	// after the journal 1
	// journal lost 2
}

const vnfdID = "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177"

var files = fstest.MapFS{"web.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: web, template_author: toys, template_version: '1.0'}
node_types:
  toy.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: toy.VNF, properties: {flavour_id: small}}
  node_templates:
    VNF:
      type: toy.VNF
      properties:
        {descriptor_id: ` + vnfdID + `, descriptor_version: '1.0', provider: Toys, product_name: Web, software_version: '1.0',
         vnfm_info: ['0:vnfkit'], flavour_id: small, flavour_description: a toy}
    web:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: web, description: web, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}}
`)}}

// cloud is a driver that makes a server, and then gives it a name.
type cloud struct {
	careless bool // makes it without a look at whether it is there

	mu      sync.Mutex
	store   store.Store
	servers []string
	created func() // called in the middle of create-server
}

var errWrongOperation = errors.New("the toy can only be instantiated")

func (c *cloud) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{Added: []vnflcm.VNFC{{ID: "web-0", VDU: "web"}}}, nil
}
func (c *cloud) Scale(context.Context, *vnflcm.Operation) error     { return errWrongOperation }
func (c *cloud) Heal(context.Context, *vnflcm.Operation) error      { return errWrongOperation }
func (c *cloud) Terminate(context.Context, *vnflcm.Operation) error { return errWrongOperation }

func (c *cloud) Resources(ctx context.Context, _ *vnflcm.Operation) (r vnflcm.Resources, err error) {
	id, exists, err := c.find(ctx)
	if exists {
		r.VNFCs = []vnflcm.VNFC{{ID: id, VDU: "web", ResourceID: id}}
	}
	return r, err
}

func (c *cloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	create := vnflcm.Step[string]{Name: "create-server", On: "web-0", Do: c.create}
	if !c.careless {
		create.Probe = c.find
	}
	if _, err := vnflcm.Run(ctx, op, create); err != nil {
		return err
	}
	_, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "name-server", On: "web-0", Do: func(context.Context) (string, error) { return "web", nil }})
	return err
}

func (c *cloud) create(context.Context) (string, error) {
	c.mu.Lock()
	c.servers = append(c.servers, "web-0")
	created := c.created
	c.mu.Unlock()
	if created != nil {
		created()
	}
	return "web-0", nil
}

func (c *cloud) find(context.Context) (string, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "web-0", slices.Contains(c.servers, "web-0"), nil
}

// start begins a process.
func (c *cloud) start(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	config := vnflcm.Config{Store: c.store, Key: bytes.Repeat([]byte{1}, 32), Infra: map[string]vnflcm.InfraDriver{"toy": c}, KnownVIMs: vnflcm.VimConnections{{VimID: "toy", VimType: "toy"}},
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil })}
	for _, f := range change {
		f(&config)
	}
	m, err := vnflcm.New(context.Background(), config)
	if err != nil {
		panic(err)
	}
	return m
}

// instantiate begins that.
func instantiate(m *vnflcm.Manager) (string, error) {
	ctx := context.Background()
	inst, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		return "", err
	}
	return m.Instantiate(ctx, inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small", VimConnectionInfo: vnflcm.VimConnections{{VimID: "toy"}}})
}
