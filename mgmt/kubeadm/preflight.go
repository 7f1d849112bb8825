package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/preflight"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// preflightParam is the parameter "preflight". Only the request that has it passes over checks.
type preflightParam struct {
	PassOver []string `json:"pass_over"` // checks whose refusal is a warning
}

var (
	checkMachine = step("preflight", "what would keep the machine from being a node is found before the machine is changed", installLimit, runPreflight)
	allChecked   = repeated("checked", "no node is prepared while another one has findings that refuse the operation", func(context.Context, *environment, mgmt.Node) error { return nil })
	pullImages   = step("images", "the machine has the images of a node, or can pull them", pullLimit, runPullNodeImages)
)

// preflightChecks are the names of the checks that preflight.pass_over accepts: those of machines, and that a snapshot is taken before
// control-plane nodes are removed.
var preflightChecks = append(slices.Clone(preflight.Checks), checkSnapshot)

// preflight checks the names of checks.
func (c *checker) preflight(p *clusterParam) {
	for i, name := range p.Preflight.PassOver {
		if !slices.Contains(preflightChecks, name) {
			c.Fault(fmt.Sprintf("preflight.pass_over[%d]", i), name, "is no check: there are "+strings.Join(preflightChecks, ", "))
		}
	}
}

// kubeadmNames are the names of the checks of kubeadm that are the same.
var kubeadmNames = map[string]string{preflight.Cores: "NumCPU", preflight.Memory: "Mem", preflight.Swap: "Swap", preflight.Images: "ImagePull"}

// passesOverFinding reports whether the request passes over a check of the preflight.
func (p *clusterParam) passesOverFinding(check string) bool {
	name, hasName := kubeadmNames[check]
	return slices.Contains(p.Preflight.PassOver, check) || hasName && slices.Contains(p.IgnorePreflight, name)
}

// refusesFindings reports whether findings refuse the operation. What replaces or rescues machines is never refused because of a check.
func (e *environment) refusesFindings() bool {
	return e.op.Kind == vnflcm.OpInstantiate || e.op.Scale != nil
}

// refuseFindings returns the findings that refuse the operation. The remaining ones are warnings.
func (e *environment) refuseFindings(ctx context.Context, findings []preflight.Finding) error {
	var refused []error
	for _, f := range findings {
		switch {
		case e.p.passesOverFinding(f.Check):
			e.op.Warn(ctx, "passed over by the request: "+f.Machine+": "+f.Error())
		case !e.refusesFindings():
			e.op.Warn(ctx, "preflight of "+f.Machine+": "+f.Error())
		default:
			refused = append(refused, f)
		}
	}
	return errors.Join(refused...)
}

// runPreflight finds all that is wrong with a machine at once.
func runPreflight(ctx context.Context, e *environment, n mgmt.Node) error {
	findings, err := e.findings(ctx, n, e.isNew(n))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, sshexec.ErrConnect) && e.refusesFindings() {
		return err
	}
	if err != nil {
		e.op.Warn(ctx, fmt.Sprintf("the preflight of %s is not complete: %v", n.Label(), err))
	}
	return e.refuseFindings(ctx, findings)
}

// isNew reports whether the operation makes the machine a node.
func (e *environment) isNew(n mgmt.Node) bool {
	return e.makesCluster() || len(clusternodes.Among([]mgmt.Node{n}, slices.Concat(e.op.Change.Added, e.op.Change.Replaced))) > 0
}

// collected joins the results of checks.
type collected struct {
	findings []preflight.Finding
	errs     []error
}

func (c *collected) add(findings []preflight.Finding, err error) {
	c.findings, c.errs = append(c.findings, findings...), append(c.errs, err)
}

// finding adds the error of a check as a finding. The machine may be unable to answer: that is an error.
func (c *collected) finding(check string, n mgmt.Node, err error, remedy string) {
	if errors.Is(err, sshexec.ErrConnect) {
		c.errs = append(c.errs, err)
	} else if err != nil {
		c.findings = append(c.findings, preflight.Finding{Check: check, Machine: n.Label(), Problem: strings.TrimPrefix(err.Error(), "kubeadm: "), Remedy: remedy})
	}
}

// findings runs all checks on a machine. isNew is whether the machine is to become a node.
func (e *environment) findings(ctx context.Context, n mgmt.Node, isNew bool) ([]preflight.Finding, error) {
	var c collected
	c.add(preflight.Size(ctx, n, e.isControlPlane(n)))
	if !e.p.swapAllowed() {
		c.add(preflight.ForeignSwap(ctx, n))
	}
	other, err := e.reference(ctx, n)
	c.errs = append(c.errs, err)
	c.add(preflight.CheckMTU(ctx, n, other))
	if other.ID != n.ID {
		c.finding(preflight.Clocks, n, e.clocksApart(ctx, []mgmt.Node{n, other}), "let all machines ask the same time servers")
		c.add(preflight.Blocked(ctx, n, e.routesBetween(n, other)))
	}
	if isNew {
		e.findNew(ctx, n, &c)
	}
	return c.findings, errors.Join(c.errs...)
}

// findNew runs the checks of a machine that is to become a node.
func (e *environment) findNew(ctx context.Context, n mgmt.Node, c *collected) {
	c.add(preflight.Resolve(ctx, n, e.neededNames()))
	c.add(e.closedRegistries(ctx, n))
	if e.p.ScriptPath != "" {
		return // the script prepares the machine
	}
	if e.makesCluster() && e.p.Kubelet["failCgroupV1"] != false {
		c.finding(preflight.Cgroups, n, e.preparation().CheckCgroups(ctx, n), "")
	}
	err := e.findPackages(ctx, n)
	e.sourced.Set(n.ID, err == nil)
	c.finding(preflight.Packages, n, err, "")
	used, err := e.hasLeftovers(ctx, n)
	c.errs = append(c.errs, err)
	if used {
		c.findings = append(c.findings, preflight.Finding{Check: preflight.Leftovers, Machine: n.Label(), Problem: "it has files of another cluster in /etc/kubernetes or /var/lib/etcd",
			Remedy: "use a clean image; passed over, the driver runs kubeadm reset"})
	}
}

// hasLeftovers reports whether a machine has been a node of another cluster. The driver names a machine before it makes the machine a node: the
// files of a machine with this name are from an earlier attempt.
func (e *environment) hasLeftovers(ctx context.Context, n mgmt.Node) (bool, error) {
	used, err := controlplane.IsUsed(ctx, n)
	if err != nil || !used {
		return false, err
	}
	name, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"hostname"}})
	return strings.TrimSpace(string(name)) != n.HostName, err
}

// reference returns the control-plane node that a machine is compared with, or the machine itself without one that answers.
func (e *environment) reference(ctx context.Context, n mgmt.Node) (mgmt.Node, error) {
	if e.makesControlPlane() {
		return e.controlPlane[0], nil
	}
	for _, other := range e.up {
		if other.ID == n.ID {
			continue
		}
		fault, err := clusternodes.Answers(ctx, other)
		if err != nil || fault == nil {
			return other, err
		}
	}
	return n, nil
}

// routesBetween returns the connections that the cluster needs between a machine and a control-plane node.
func (e *environment) routesBetween(n, controlPlane mgmt.Node) []preflight.Route {
	routes := []preflight.Route{{From: n, To: controlPlane, Port: 6443, For: "the API"}, {From: controlPlane, To: n, Port: 10250, For: "the kubelet"}}
	if !e.isControlPlane(n) {
		return routes
	}
	routes = append(routes, preflight.Route{From: controlPlane, To: n, Port: 6443, For: "the API"})
	for _, port := range []int{2379, 2380} {
		routes = append(routes, preflight.Route{From: n, To: controlPlane, Port: port, For: "etcd"}, preflight.Route{From: controlPlane, To: n, Port: port, For: "etcd"})
	}
	return routes
}

// neededNames returns the host names in the request that machines resolve themselves.
func (e *environment) neededNames() (names []string) {
	add := func(host string) {
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && host != "" {
			names = append(names, host)
		}
	}
	if host, _, err := net.SplitHostPort(e.p.APIEndpoint); err == nil {
		add(host)
	} else {
		add(e.p.APIEndpoint)
	}
	if e.p.Proxy.Used() { // which resolves the names of repositories and registries
		for _, proxy := range e.proxySecrets() {
			if u, err := url.Parse(proxy); err == nil {
				add(u.Hostname())
			}
		}
		return names
	}
	if e.p.ScriptPath == "" {
		for _, r := range e.p.Packages.Repositories() {
			if u, err := url.Parse(r.URL); err == nil {
				add(u.Hostname())
			}
		}
	}
	for _, r := range e.p.imageServers() {
		if host, _ := e.serverAt(r); e.p.needsServer(r) {
			add(host)
		}
	}
	return names
}

// serverAt returns the host, from hosts_string if that has it, and the port of a registry or mirror.
func (e *environment) serverAt(r client.Connection) (host, port string) {
	u, err := url.Parse(r.URL())
	if err != nil {
		return r.Server, "443"
	}
	host, port = u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	for _, entry := range e.p.Registries.HostEntries() {
		if entry.Name == host {
			return entry.IP.String(), port
		}
	}
	return host, port
}

// closedRegistries finds private registries and mirrors that a machine cannot connect to. A registry that no node needs may be made later.
func (e *environment) closedRegistries(ctx context.Context, n mgmt.Node) (out []preflight.Finding, err error) {
	if e.p.Proxy.Used() {
		return nil, nil // it may lead to them
	}
	for _, r := range e.p.imageServers() {
		host, port := e.serverAt(r)
		needed := e.p.needsServer(r)
		switch err := preflight.Connects(ctx, n, net.JoinHostPort(host, port)); {
		case errors.Is(err, preflight.ErrNoForwarding):
			return out, fmt.Errorf("%s: %w", n.Label(), err)
		case err != nil && ctx.Err() == nil && !needed:
			e.op.Warn(ctx, n.Label()+" does not reach the registry "+r.Server)
		case err != nil && ctx.Err() == nil:
			out = append(out, preflight.Finding{Check: preflight.Registries, Machine: n.Label(), Problem: "it does not reach the registry " + r.Label(), Remedy: "correct the server in the request, or let firewalls pass it"})
		}
	}
	return out, nil
}

// pullLimit bounds the step images. It is longer than the time for the images: images that take too long are a finding, which does not refuse a heal.
func pullLimit(t Timeouts) time.Duration { return t.Install + time.Minute }

// runPullNodeImages pulls the images of kubeadm that a node needs, by name, before kubeadm runs.
func runPullNodeImages(ctx context.Context, e *environment, n mgmt.Node) error {
	err := mgmt.Within(ctx, e.config.Timeouts.Install, func(ctx context.Context) error {
		images, err := e.nodeImages(ctx, n)
		if err != nil {
			return err
		}
		return client.Pull(ctx, n.SSH, e.p.connections(), images)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var c collected
	c.finding(preflight.Images, n, err, e.p.imageRemedy())
	return errors.Join(e.refuseFindings(ctx, c.findings), errors.Join(c.errs...))
}

// nodeImages returns the images that kubeadm and the driver deploy on a node.
func (e *environment) nodeImages(ctx context.Context, n mgmt.Node) ([]string, error) {
	config, err := e.kubeadm().Configuration()
	if !e.makesControlPlane() {
		config, err = clusterConfiguration(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	all, err := config.Images(ctx, n)
	if err != nil {
		return nil, err
	}
	if !e.isControlPlane(n) {
		all = slices.DeleteFunc(all, func(image string) bool { return !runsOnWorkers(image) })
	}
	return append(all, e.p.networkImages()...), nil
}

// PreflightFinding is something wrong with a machine, which an instantiation or a scale-out would refuse.
type PreflightFinding struct {
	Check   string `json:"check"` // the name for preflight.pass_over
	Machine string `json:"machine"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy,omitempty"`
}

// Preflight checks the machines of a running cluster as it would check new ones, but for what only new machines need: packages, names,
// registries and a clean disk. It changes nothing. Programs call it in vnflcm.Manager.Examine. An error, such as of a machine that does not answer, comes
// with the findings of the remaining machines.
func (d *Driver) Preflight(ctx context.Context, op *vnflcm.Operation) (out []PreflightFinding, err error) {
	e, err := d.open(ctx, op)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	nodes := e.nodes()
	found := make([][]preflight.Finding, len(nodes))
	err = fanout.Each(ctx, len(nodes), d.config.Parallel, func(i int) (err error) {
		found[i], err = e.findings(ctx, nodes[i], false)
		return err
	})
	for _, f := range slices.Concat(found...) {
		out = append(out, PreflightFinding(f))
	}
	return out, err
}
