package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/e2e/cloud"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// sharedCloud is the cloud that all tests share; it is started for the first one that needs it.
type sharedCloud struct {
	once sync.Once
	err  error
	openStack
}

// openStack is a project of the cloud.
type openStack struct {
	cloud    *cloud.Cloud
	operator *cloud.Cloud // with the rights of an administrator
	networks [2]string    // ids; the machines of the whole chain are on the first
}

func (s *sharedCloud) close() error {
	if s.operator == nil {
		return nil
	}
	return s.operator.Close()
}

// prepare starts the cloud with what the sample package wants there.
func (s *sharedCloud) prepare(ctx context.Context) error {
	begin := time.Now()
	c, err := cloud.Up(ctx, os.Getenv("VNFKIT_OPENSTACK_DIR"))
	if err != nil {
		return err
	}
	s.cloud, s.operator = c, c
	fmt.Fprintf(os.Stderr, "OpenStack took %s to start\n", time.Since(begin).Round(time.Second))
	return errors.Join(c.AddFlavor(ctx, "m1.medium"), c.AddFlavor(ctx, "m1.small"), c.AddImage(ctx, "ubuntu-24.04-server-cloudimg-amd64"), s.addNetworks(ctx))
}

// project makes a project for a test, so that others can run beside it.
func (o *openStack) project(t testing.TB) *openStack {
	t.Helper()
	c, err := o.operator.Project(t.Context(), t.Name())
	must(t, err)
	out := &openStack{cloud: c, operator: o.operator}
	must(t, out.addNetworks(t.Context()))
	return out
}

func (o *openStack) addNetworks(ctx context.Context) error {
	var errs []error
	for i := range o.networks {
		prefix := []netip.Prefix{hostNetwork(), otherNetwork}[i]
		base := prefix.Addr().As4()
		first, last := netip.AddrFrom4([4]byte{base[0], base[1], 200, 10}), netip.AddrFrom4([4]byte{base[0], base[1], 250, 250})
		var err error
		o.networks[i], err = o.cloud.AddNetwork(ctx, fmt.Sprintf("net%d", i), prefix, first, last)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// hostNetwork is the subnet of the hosts, or one like it if no test of this run needs hosts.
func hostNetwork() netip.Prefix {
	if site.network == nil {
		return netip.MustParsePrefix("10.213.0.0/16")
	}
	return site.network.Prefix()
}

// otherNetwork is the subnet of the cloud's second network.
var otherNetwork = netip.MustParsePrefix("127.61.0.0/16")

// needCloud returns the cloud, or skips the test.
func needCloud(t testing.TB) *openStack {
	t.Helper()
	needPart(t, "openstack")
	return startCloud(t)
}

// startCloud returns the cloud.
func startCloud(t testing.TB) *openStack {
	t.Helper()
	s := &site.cloud
	s.once.Do(func() {
		if missing := cloud.Missing(t.Context()); missing != "" {
			s.err = errors.New(missing)
			return
		}
		s.err = s.prepare(context.WithoutCancel(t.Context()))
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return &s.openStack
}

// clearUp logs what the services have said when a test has failed, and deletes what that has left.
func (o *openStack) clearUp(t testing.TB) {
	t.Helper()
	if !t.Failed() {
		return
	}
	t.Log(o.cloud.Logs())
	if err := o.cloud.Clear(context.Background()); err != nil {
		t.Log(err)
	}
}

// stackLab is a Manager on the cloud.
type stackLab struct {
	*vnflcm.Manager
	*openStack
	t      *testing.T
	driver *planner
	pkg    string
	id     string // of the VNF instance
	// adopted is the name of a stack that the test has made beside the driver.
	adopted string
	mu      sync.Mutex
	events  []vnflcm.Event
}

// planner is the driver, whose announcements a test can change.
type planner struct {
	*openstack.Driver
	change func(op *vnflcm.Operation, planned *vnflcm.Change)

	mu   sync.Mutex
	keys map[string]string // that the driver has told last, by server
}

func (p *planner) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	out, err := p.Driver.Resources(ctx, op)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = map[string]string{}
	for _, v := range out.VNFCs {
		p.keys[v.ResourceID] = v.HostKey
	}
	return out, err
}

// hostKeys are the host keys of the servers, as the driver has told them last.
func (p *planner) hostKeys() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys
}

func (p *planner) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	planned, err := p.Driver.Plan(ctx, op)
	if p.change != nil {
		p.change(op, &planned)
	}
	return planned, err
}

// idle is a management driver that does nothing.
type idle struct{}

func (idle) Validate(context.Context, *vnflcm.Operation) error { return nil }
func (idle) Hooks() vnflcm.Hooks {
	nothing := func(context.Context, *vnflcm.Operation) error { return nil }
	return vnflcm.Hooks{vnflcm.InstantiateEnd: nothing, vnflcm.TerminateStart: nothing, vnflcm.TerminateEnd: nothing, vnflcm.HealStart: nothing,
		vnflcm.HealEnd: nothing, vnflcm.ScaleStart: nothing, vnflcm.ScaleEnd: nothing}
}

// packagesIn finds the one package there is.
func packagesIn(dir string) vnflcm.Packages {
	return vnflcm.DirPackages(dir)
}

// stackManager composes a Manager on a VIM.
func stackManager(ctx context.Context, store store.Store, pkg string, infra vnflcm.InfraDriver, mgmt vnflcm.MgmtDriver, vim vnflcm.VimConnectionInfo,
	observe func(vnflcm.Event)) (*vnflcm.Manager, error) {
	m, err := vnflcm.New(ctx, vnflcm.Config{Store: store, Key: key, Observe: observe,
		Packages: packagesIn(pkg),
		Infra:    map[string]vnflcm.InfraDriver{openstack.VimTypeV1: infra, openstack.VimTypeV2: infra},
		Mgmt:     map[string]vnflcm.MgmtDriver{driverName: mgmt, registryDriver: mgmt}})
	if err != nil {
		return nil, err
	}
	return m, m.VIMs().Put(ctx, vim)
}

// newStackLab makes a Manager for a test of the part openstack, with a project of the cloud.
func newStackLab(t *testing.T, vimType, pkg string) *stackLab {
	t.Helper()
	return needCloud(t).project(t).lab(t, vimType, pkg)
}

// lab makes a Manager and an instance that is not instantiated.
func (o *openStack) lab(t *testing.T, vimType, pkg string) *stackLab {
	t.Helper()
	l := &stackLab{openStack: o, t: t, pkg: pkg}
	l.driver = &planner{Driver: openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond})}
	vim, err := l.cloud.VIM("cloud", vimType)
	if err != nil {
		t.Fatal(err)
	}
	if l.Manager, err = stackManager(t.Context(), store.NewMemory(), pkg, l.driver, idle{}, vim, l.observe); err != nil {
		t.Fatal(err)
	}
	made := l.Manager // some tests replace the Manager of the lab
	t.Cleanup(func() {
		if err := made.Close(context.Background()); err != nil {
			t.Error(err)
		}
		l.driver.Close()
		l.clearUp(t)
	})
	opened, err := tosca.Open(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	inst, err := l.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: opened.VNFD().ID})
	if err != nil {
		t.Fatal(err)
	}
	l.id = inst.ID
	return l
}

func (l *stackLab) observe(e vnflcm.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// stackRequest is a sample request of a flavour, connected to a network.
func stackRequest(file, flavour, network string, workers int) (vnflcm.InstantiateVnfRequest, error) {
	r, err := instantiation(packageDir, file, flavour)
	r.VimConnectionInfo = vnflcm.VimConnections{{VimID: "cloud"}}
	r.InstantiationLevelID, r.TargetScaleLevelInfo = "", []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: workers - 1}}
	for i := range r.ExtVirtualLinks {
		r.ExtVirtualLinks[i].ResourceID = network
	}
	return r, err
}

func (l *stackLab) instantiate(flavour string, workers int) (string, error) {
	l.t.Helper()
	r, err := stackRequest("instantiate_complex.json", flavour, l.networks[1], workers)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.Instantiate(l.t.Context(), l.id, r)
}

// must waits for an operation that must succeed, and returns the VNFCs by id.
func (l *stackLab) must(opID string, err error) map[string]vnflcm.VnfcResourceInfo {
	l.t.Helper()
	begin := time.Now()
	var occ *vnflcm.VnfLcmOpOcc
	if err == nil {
		occ, err = l.Wait(l.t.Context(), opID)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Logf("%s took %s", occ.Operation, time.Since(begin).Round(100*time.Millisecond))
	return l.vnfcs()
}

func (l *stackLab) vnfcs() map[string]vnflcm.VnfcResourceInfo {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]vnflcm.VnfcResourceInfo{}
	if inst.InstantiatedVnfInfo != nil {
		for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
			out[v.ID] = v
		}
	}
	return out
}

// workers sorts the ids of the workers, the oldest first.
func workers(vnfcs map[string]vnflcm.VnfcResourceInfo) []string {
	var out []string
	for id, v := range vnfcs {
		if v.VduID == "workerNode" {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return strings.Compare(vnfcs[a].Metadata["creation_time"], vnfcs[b].Metadata["creation_time"])
	})
	return out
}

func server(v vnflcm.VnfcResourceInfo) string { return v.ComputeResource.ResourceID }

// wantUnchanged checks that VNFCs other than some have their servers still.
func (l *stackLab) wantUnchanged(before, now map[string]vnflcm.VnfcResourceInfo, but ...string) {
	l.t.Helper()
	for id, v := range before {
		if !slices.Contains(but, id) && server(now[id]) != server(v) {
			l.t.Errorf("VNFC %s had server %s, has %s", id, server(v), server(now[id]))
		}
	}
}

func scale(kind vnflcm.ScaleType, steps int) vnflcm.ScaleVnfRequest {
	return vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance", NumberOfSteps: steps}
}

// terminate ends the VNF and checks that nothing is left of it.
func (l *stackLab) terminate(mode vnflcm.TerminationType) {
	l.t.Helper()
	l.must(l.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: mode}))
	l.wantNothingLeft()
}

// own leaves out the stack that a test has made beside the driver.
func own(items []string) []string {
	return slices.DeleteFunc(items, func(s string) bool { return strings.Contains(s, "foreign") })
}

// wantNothingLeft checks that nothing is left of the instance, and deletes it.
func (l *stackLab) wantNothingLeft() {
	l.t.Helper()
	left, err := l.cloud.Left(l.t.Context())
	left = own(left)
	if err != nil || len(left) != 0 {
		l.t.Errorf("left: %q, %v", left, err)
	}
	if err := l.Delete(l.t.Context(), l.id, ""); err != nil {
		l.t.Error(err)
	}
}

// heat sends a request to Heat without the driver, as another program would.
func (l *stackLab) heat(method string, body, into any, path ...string) {
	l.t.Helper()
	api := l.cloud.Orchestration
	_, err := api.Request(l.t.Context(), method, api.ServiceURL(path...), &gophercloud.RequestOpts{JSONBody: body, JSONResponse: into, //nolint:bodyclose // gophercloud closes it
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent}})
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestStackLife takes three control-plane nodes and two workers through their whole life.
func TestStackLife(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, packageDir)
	l.heat(http.MethodPost, map[string]any{"stack_name": "foreign", "template": map[string]any{"heat_template_version": "2018-08-31",
		"resources": map[string]any{"r": map[string]any{"type": "OS::Heat::RandomString"}}}}, nil, "stacks")
	two := l.must(l.instantiate("complex", 2))
	if len(two) != 5 || len(workers(two)) != 2 {
		t.Fatalf("%d VNFCs", len(two))
	}
	l.checkResources()
	l.checkMachines(two)

	four := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 2)))
	l.wantUnchanged(two, four)
	if len(four) != 7 {
		t.Fatalf("%d VNFCs", len(four))
	}
	var announced []string
	l.driver.change = func(_ *vnflcm.Operation, planned *vnflcm.Change) {
		for _, v := range planned.Removed {
			announced = append(announced, v.ID)
		}
	}
	three := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 1)))
	l.wantUnchanged(four, three, announced...)
	if len(announced) != 1 || len(three) != 6 || !slices.Contains(workers(four)[2:], announced[0]) {
		t.Fatalf("announced %q of %q, %d are left", announced, workers(four), len(three))
	}
	middle := workers(three)[1]
	l.driver.change = func(op *vnflcm.Operation, planned *vnflcm.Change) {
		planned.Removed = slices.DeleteFunc(slices.Clone(op.VNFCs), func(v vnflcm.VNFC) bool { return v.ID != middle })
	}
	before := three
	now := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 1)))
	l.wantUnchanged(before, now, middle)
	if _, there := now[middle]; there || len(now) != 5 {
		t.Fatalf("%s was to go: %d are left", middle, len(now))
	}
	l.driver.change = nil

	sick := workers(now)[0]
	healed := l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{sick}}))
	l.wantUnchanged(now, healed, sick)
	if server(healed[sick]) == server(now[sick]) || cmp.Diff(now[sick].VnfcCpInfo, healed[sick].VnfcCpInfo) != "" {
		t.Errorf("healed %+v to %+v", now[sick], healed[sick])
	}

	all := l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{})) // in place, as version 2 has it
	for id := range healed {
		if server(all[id]) == server(healed[id]) || all[id].Metadata["stack_id"] != healed[id].Metadata["stack_id"] {
			t.Errorf("VNFC %s: server %s to %s", id, server(healed[id]), server(all[id]))
		}
	}
	l.moveWorkers(all)
	l.terminate(vnflcm.TerminateGraceful)
	var foreign struct {
		Stack struct {
			ID     string `json:"id"`
			Status string `json:"stack_status"`
		} `json:"stack"`
	}
	l.heat(http.MethodGet, nil, &foreign, "stacks", "foreign")
	if foreign.Stack.Status != "CREATE_COMPLETE" {
		t.Errorf("the foreign stack is %s", foreign.Stack.Status)
	}
	l.heat(http.MethodDelete, nil, nil, "stacks", "foreign", foreign.Stack.ID)
}

// checkResources looks at what the instance shows of the stack.
func (l *stackLab) checkResources() {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	info := inst.InstantiatedVnfInfo
	for _, v := range info.VnfcResourceInfo {
		cp := v.VnfcCpInfo
		if len(cp) != 1 || len(cp[0].CpProtocolInfo) != 1 || len(cp[0].CpProtocolInfo[0].IPOverEthernet.IPAddresses) != 1 ||
			v.ZoneID != "nova" || v.Metadata["parent_resource_name"] == "" {
			l.t.Errorf("VNFC %+v", v)
		}
	}
	if !slices.ContainsFunc(info.ExtCpInfo, func(cp vnflcm.VnfExtCpInfo) bool { return cp.CpdID == "vip_CP" }) {
		l.t.Errorf("external connection points %+v", info.ExtCpInfo)
	}
}

// checkMachines checks what the templates of the sample ask of Nova and Neutron for the machines.
func (l *stackLab) checkMachines(vnfcs map[string]vnflcm.VnfcResourceInfo) {
	l.t.Helper()
	ctx := l.t.Context()
	var controlPlane []string
	for _, v := range vnfcs {
		groups := 1
		if v.VduID == "masterNode" {
			controlPlane, groups = append(controlPlane, server(v)), 2
		}
		pages, err := ports.List(l.cloud.Network, ports.ListOpts{DeviceID: server(v)}).AllPages(ctx)
		must(l.t, err)
		found, err := ports.ExtractPorts(pages)
		must(l.t, err)
		if len(found) != 1 || len(found[0].SecurityGroups) != groups {
			l.t.Errorf("%s has the ports %+v, want one with %d security groups", v.VduID, found, groups)
		}
		nova := *l.operator.Compute
		nova.Microversion = "2.3" // the first that shows user data, to an administrator
		machine, err := servers.Get(ctx, &nova, server(v)).Extract()
		must(l.t, err)
		if machine.Userdata == nil {
			l.t.Fatalf("%s has no user data", v.VduID)
		}
		text, err := base64.StdEncoding.DecodeString(*machine.Userdata)
		var config struct {
			ManageEtcHosts *bool `yaml:"manage_etc_hosts"`
			Users          []any
		}
		if err == nil {
			err = yaml.Unmarshal(text, &config)
		}
		if err != nil || !bytes.HasPrefix(text, []byte("#cloud-config\n")) || config.ManageEtcHosts == nil || *config.ManageEtcHosts || len(config.Users) != 2 {
			l.t.Errorf("%s has the user data %q, %v", v.VduID, text, err)
		}
	}
	pages, err := servergroups.List(l.cloud.Compute, nil).AllPages(ctx)
	must(l.t, err)
	groups, err := servergroups.ExtractServerGroups(pages)
	must(l.t, err)
	if len(groups) != 1 || !slices.Equal(groups[0].Policies, []string{"soft-anti-affinity"}) ||
		!slices.Equal(slices.Sorted(slices.Values(groups[0].Members)), slices.Sorted(slices.Values(controlPlane))) {
		l.t.Errorf("server groups %+v, want one with %q", groups, controlPlane)
	}
}

// moveWorkers connects the workers to the other network.
func (l *stackLab) moveWorkers(before map[string]vnflcm.VnfcResourceInfo) {
	l.t.Helper()
	now := l.must(l.ChangeExtConn(l.t.Context(), l.id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{
		{ID: "net0_worker", ResourceID: l.networks[0], ExtCps: []vnflcm.VnfExtCpData{{CpdID: "workerNode_CP2"}}}}}))
	for id, v := range now {
		address := v.VnfcCpInfo[0].CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0]
		if onFirst := hostNetwork().Contains(netip.MustParseAddr(address)); onFirst != (v.VduID == "workerNode") {
			l.t.Errorf("%s has address %s", v.VduID, address)
		}
		if _, known := before[id]; !known {
			l.t.Errorf("VNFC %s is new", id)
		}
	}
}

// stackShown is what Heat shows of a stack.
type stackShown struct {
	ID   string
	Tags []string
}

func (l *stackLab) stack() stackShown {
	l.t.Helper()
	var body struct{ Stack stackShown }
	l.heat(http.MethodGet, nil, &body, "stacks", openstack.StackName(l.id))
	return body.Stack
}

// TestStackMadeAnew heals a whole VNF as version 1 has it. Before, an update beside the driver takes the tags of the stack away.
func TestStackMadeAnew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV1, packageDir)
	l.must(l.instantiate("simple", 1))
	l.heat(http.MethodPatch, map[string]string{"tags": "other"}, nil, "stacks", openstack.StackName(l.id), l.stack().ID)
	before := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 1)))
	if tags := l.stack().Tags; !slices.Contains(tags, "vnfkit") || !slices.Contains(tags, l.id) {
		t.Errorf("the stack lost its tags, and after the next update it has %q", tags)
	}
	now := l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{}))
	if len(now) != len(before) {
		t.Fatalf("%d VNFCs of %d", len(now), len(before))
	}
	for id, v := range before {
		if now[id].VduID != v.VduID || server(now[id]) == server(v) || now[id].Metadata["stack_id"] == v.Metadata["stack_id"] {
			t.Errorf("VNFC %s: %+v to %+v", id, v, now[id])
		}
	}
	l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 1)))
	l.terminate(vnflcm.TerminateForceful)
}

// variant is the sample package with a text replaced in a file.
func variant(t *testing.T, file, old, with string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(packageDir)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, file)
	text, err := os.ReadFile(name) //nolint:gosec // our own
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s lacks %q: %v", file, old, err)
	}
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), old, with)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStackThatFails has a resource that Heat cannot make; the operation is rolled back.
func TestStackThatFails(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pkg := variant(t, "BaseHOT/simple/nested/simple_nested_worker.yaml", "resources:\n", "resources:\n  broken:\n    type: OS::Heat::TestResource\n    properties: { fail: true }\n")
	l := newStackLab(t, openstack.VimTypeV2, pkg)
	opID, err := l.instantiate("simple", 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Wait(ctx, opID)
	var failed *openstack.StackError
	if !errors.As(err, &failed) || failed.Resource == nil || failed.Resource.Name != "broken" || !strings.Contains(failed.Resource.Reason, "Test Resource failed") {
		t.Errorf("error %v, %+v", err, failed)
	}
	if err := l.Rollback(ctx, opID); err != nil {
		t.Fatal(err)
	}
	if occ, _ := l.Wait(ctx, opID); occ == nil || occ.OperationState != vnflcm.RolledBack {
		t.Errorf("after Rollback: %+v", occ)
	}
	l.wantNothingLeft()
}

// TestWrongPassword is refused before anything is touched.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, packageDir)
	vim, err := l.cloud.VIM("cloud", openstack.VimTypeV2)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := vnflcm.ParseParams([]byte(`{"password": "canary-wrong"}`))
	if err == nil {
		vim.AccessInfo, err = vim.AccessInfo.Merge(wrong)
	}
	if err = errors.Join(err, l.VIMs().Put(ctx, vim)); err != nil {
		t.Fatal(err)
	}
	_, err = l.instantiate("simple", 1)
	if err == nil || strings.Contains(err.Error(), "canary") || !errors.Is(err, openstack.ErrAuth) {
		t.Errorf("error %v", err)
	}
}

// TestHeatIsRestarted ends Heat while it makes a stack. It does not take it up again by itself, nor give it up:
// the driver stops it when the time is over, and a retry, with the time that a busy machine needs, finishes.
// It runs alone: all projects have the same Heat.
func TestHeatIsRestarted(t *testing.T) {
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, packageDir)
	l.driver.Driver = openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond, StackTimeout: time.Minute})
	opID, err := l.instantiate("complex", 2)
	if err != nil {
		t.Fatal(err)
	}
	l.awaitStack("CREATE_IN_PROGRESS")
	if err := errors.Join(l.cloud.Stop(ctx, "heat"), l.cloud.Start(ctx)); err != nil {
		t.Fatal(err)
	}
	_, err = l.Wait(ctx, opID)
	t.Logf("first attempt: %v", err)
	if err != nil {
		l.driver.Driver = openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond})
		l.must(opID, l.Retry(ctx, opID))
	}
	if n := len(l.vnfcs()); n != 5 {
		t.Errorf("%d VNFCs", n)
	}
	l.terminate(vnflcm.TerminateForceful)
}

// awaitStack waits until the stack of the instance is in a state.
func (l *stackLab) awaitStack(status string) {
	l.t.Helper()
	l.awaitHeat(func() string {
		var body struct {
			Stack struct {
				Status string `json:"stack_status"`
			} `json:"stack"`
		}
		api := l.cloud.Orchestration
		_, err := api.Get(l.t.Context(), api.ServiceURL("stacks", openstack.StackName(l.id)), &body, nil) //nolint:bodyclose // gophercloud closes it
		if err == nil && body.Stack.Status == status {
			return ""
		}
		return fmt.Sprintf("the stack is %q (%v), not %s", body.Stack.Status, err, status)
	})
}

// awaitHeat waits until missing returns "", for as long as Heat may need on a busy machine.
func (l *stackLab) awaitHeat(missing func() string) {
	l.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		what := missing()
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatal(what)
		}
	}
}
