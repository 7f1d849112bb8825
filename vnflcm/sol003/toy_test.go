package sol003_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	toyVNFD = "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177"
	canary  = "c4nary-S3cret"
)

var toyPackage = fstest.MapFS{
	"TOSCA-Metadata/TOSCA.meta": {Data: []byte("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: toys\nEntry-Definitions: Definitions/top.yaml\n")},
	"Definitions/top.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
imports: [simple.yaml]
node_types:
  toy.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  node_templates:
    VNF:
      type: toy.VNF
      properties: {descriptor_id: ` + toyVNFD + `, descriptor_version: '1.0', provider: Toys, product_name: Toy, software_version: '1.2', vnfm_info: ['0:vnfkit']}
`)},
	"Definitions/simple.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings: {node_type: toy.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: toy.VNF
      properties: {flavour_id: simple, flavour_description: a toy}
      interfaces: {Vnflcm: {instantiate: []}}
    worker:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: worker, description: worker, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 5}}
    worker_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: worker]
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties:
          aspects:
            workers: {name: workers, description: workers, max_scale_level: 4, step_deltas: [one]}
    - initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [worker], properties: {initial_delta: {number_of_instances: 1}}}
    - deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [worker], properties: {aspect: workers, deltas: {one: {number_of_instances: 1}}}}
    - levels:
        type: tosca.policies.nfv.InstantiationLevels
        properties:
          default_level: small
          levels:
            small: {description: small, scale_info: {workers: {scale_level: 0}}}
            large: {description: large, scale_info: {workers: {scale_level: 2}}}
`)},
}

// cloud is a toy InfraDriver.
type cloud struct {
	mu    sync.Mutex
	vnfcs map[string][]vnflcm.VNFC // VNFCs by instance
	fault map[vnflcm.LcmOperation]error
	gate  chan struct{} // if not nil, operations wait until it is closed
}

func (c *cloud) setFault(kind vnflcm.LcmOperation, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault[kind] = err
}

func (c *cloud) setGate(gate chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = gate
}

func (c *cloud) Plan(_ context.Context, op *vnflcm.Operation) (change vnflcm.Change, err error) {
	switch {
	case op.Heal != nil:
		change.Replaced = op.HealTargets()
	case op.Terminate != nil:
		change.Removed = op.VNFCs
	case op.ChangeExtConn == nil:
		want, err := op.Instances()
		if err != nil {
			return change, err
		}
		for i := len(op.VNFCs); i < want["worker"]; i++ {
			change.Added = append(change.Added, vnflcm.VNFC{VDU: "worker"})
		}
		for i := len(op.VNFCs); i > want["worker"]; i-- {
			change.Removed = append(change.Removed, op.VNFCs[i-1])
		}
	}
	return change, nil
}

// do changes the machines of the instance.
func (c *cloud) do(ctx context.Context, op *vnflcm.Operation, change func([]vnflcm.VNFC) []vnflcm.VNFC) error {
	_, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "change", Do: func(ctx context.Context) (string, error) {
		c.mu.Lock()
		gate := c.gate
		c.mu.Unlock()
		if gate != nil {
			wait := retry.Begin(ctx, "the gate")
			defer wait.End()
			wait.Failed(errors.New("it is closed for " + canary))
			select {
			case <-gate:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.fault[op.Kind]; err != nil {
			return "", err
		}
		c.vnfcs[op.InstanceID] = change(c.vnfcs[op.InstanceID])
		return "", nil
	}})
	return err
}

func (c *cloud) size(ctx context.Context, op *vnflcm.Operation) error {
	want, err := op.Instances()
	if err != nil {
		return err
	}
	return c.do(ctx, op, func(now []vnflcm.VNFC) []vnflcm.VNFC {
		for i := len(now); i < want["worker"]; i++ {
			now = append(now, vnflcm.VNFC{ID: fmt.Sprintf("worker-%d", i), VDU: "worker", Name: fmt.Sprintf("worker%d", i), ResourceID: fmt.Sprintf("vm-%d", i)})
		}
		return now[:want["worker"]]
	})
}

func (c *cloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error { return c.size(ctx, op) }
func (c *cloud) Scale(ctx context.Context, op *vnflcm.Operation) error       { return c.size(ctx, op) }

func (c *cloud) Heal(ctx context.Context, op *vnflcm.Operation) error {
	return c.do(ctx, op, func(now []vnflcm.VNFC) []vnflcm.VNFC { return now })
}

func (c *cloud) ChangeExtConn(ctx context.Context, op *vnflcm.Operation) error {
	return c.do(ctx, op, func(now []vnflcm.VNFC) []vnflcm.VNFC { return now })
}

func (c *cloud) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	return c.do(ctx, op, func([]vnflcm.VNFC) []vnflcm.VNFC { return nil })
}

func (c *cloud) Resources(_ context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return vnflcm.Resources{VNFCs: slices.Clone(c.vnfcs[op.InstanceID])}, nil
}

// newManager returns a Manager with toy drivers and a default VIM.
func newManager(ctx context.Context, dir string, change func(*vnflcm.Config)) (*vnflcm.Manager, *cloud, error) {
	if err := os.CopyFS(filepath.Join(dir, "toy"), toyPackage); err != nil {
		return nil, nil, err
	}
	c := &cloud{vnfcs: map[string][]vnflcm.VNFC{}, fault: map[vnflcm.LcmOperation]error{}}
	cfg := vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{7}, 32), Packages: vnflcm.DirPackages(dir),
		Infra: map[string]vnflcm.InfraDriver{"toy": c}}
	if change != nil {
		change(&cfg)
	}
	m, err := vnflcm.New(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	return m, c, errors.Join(m.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"}), m.VIMs().SetDefault(ctx, "", "vim1"))
}

// vnfm is a VNFM with toy drivers to which a test sends requests.
type vnfm struct {
	*vnflcm.Manager
	*checker
	t     *testing.T
	cloud *cloud
	http  *httptest.Server

	packages *onboarding.Repository // nil without newOnboarding
}

// patience is the maximum time for events that must happen.
const patience = time.Minute

func newVNFM(t *testing.T, change func(*vnflcm.Config), options sol003.Options) *vnfm {
	t.Helper()
	return newVNFMWith(t, change, options, func(m *vnflcm.Manager, _ *sol003.Options) sol003.Manager { return m })
}

// newVNFMWith starts a VNFM that serves the Manager that compose returns.
func newVNFMWith(t *testing.T, change func(*vnflcm.Config), options sol003.Options, compose func(*vnflcm.Manager, *sol003.Options) sol003.Manager) *vnfm {
	t.Helper()
	m, c, err := newManager(t.Context(), t.TempDir(), change)
	must(t, err)
	if options.Authorize == nil {
		options.InsecureAllowAnyone = true
	}
	served := compose(m, &options)
	h, err := sol003.NewHandler(served, options)
	must(t, err)
	x := &vnfm{Manager: m, checker: newChecker(t), t: t, cloud: c, http: httptest.NewServer(h)}
	t.Cleanup(func() {
		x.http.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, m.Close(ctx))
	})
	return x
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer is an answer of the VNFM.
type answer struct {
	*http.Response
	body string
	tree any
}

func (a answer) object() object { o, _ := a.tree.(object); return o }

func (a answer) detail() string { s, _ := a.object()["detail"].(string); return s }

// ids returns the ids of the items of a list.
func (a answer) ids() (out []string) {
	list, _ := a.tree.(array)
	for _, item := range list {
		id, _ := item.(object)["id"].(string)
		out = append(out, id)
	}
	return out
}

// links returns the sorted names of the _links of a document.
func (a answer) links() []string {
	links, _ := a.object()["_links"].(object)
	return slices.Sorted(maps.Keys(links))
}

// send sends a request and checks the answer: its status, the schemas of its version and the headers of the standard. The answer must not
// contain a secret. header are alternating names and values.
func (x *vnfm) send(method, uri, body string, want int, header ...string) answer {
	x.t.Helper()
	if uri[0] == '/' {
		uri = x.http.URL + uri
	}
	r, err := http.NewRequestWithContext(x.t.Context(), method, uri, bytes.NewReader([]byte(body)))
	must(x.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	a := x.roundTrip(r)
	if a.StatusCode != want {
		x.t.Fatalf("%s %s: status %d, want %d\n%.2000s", method, uri, a.StatusCode, want, a.body)
	}
	return a
}

func (x *vnfm) roundTrip(r *http.Request) answer {
	x.t.Helper()
	client := &http.Client{Transport: x.http.Client().Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	must(x.t, err)
	a := read(x.t, response)
	x.check(r, a)
	return a
}

// create creates an instance and returns its URI.
func (x *vnfm) create(api string) string {
	x.t.Helper()
	a := x.send("POST", "/vnflcm/"+api+"/vnf_instances", `{"vnfdId":"`+toyVNFD+`","vnfInstanceName":"toy","metadata":{"site":"north"}}`, 201)
	return a.Header.Get("Location")
}

// begin starts an operation, waits until it has a state, and returns the answer with its document.
func (x *vnfm) begin(uri, body string, want vnflcm.OperationState) answer {
	x.t.Helper()
	a := x.send("POST", uri, body, 202)
	return x.await(a.Header.Get("Location"), want)
}

func (x *vnfm) await(uri string, want vnflcm.OperationState) answer {
	x.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		a := x.send("GET", uri, "", 200)
		switch state := a.object()["operationState"]; {
		case state == string(want):
			return a
		case time.Now().After(deadline):
			x.t.Fatalf("the operation is %v, not %s: %s", state, want, a.body)
		}
		time.Sleep(time.Millisecond)
	}
}

const instantiate = `{"flavourId":"simple","additionalParams":{"password":"` + canary + `"},"extensions":{"secret":"` + canary + `"},
	"vimConnectionInfo":[{"id":"own","vimId":"other","vimType":"toy","accessInfo":{"password":"` + canary + `"}}]}`

// running creates and instantiates an instance.
func (x *vnfm) running(api string) string {
	x.t.Helper()
	uri := x.create(api)
	x.begin(uri+"/instantiate", instantiate, vnflcm.Completed)
	return uri
}
