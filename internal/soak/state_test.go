package soak_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/afero"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// state is what an operation leaves, in terms that do not change from run to run.
type state struct {
	Instance vnflcm.InstantiationState
	VNFCs    map[string]int // by VDU
	VIMs     int
	Records  map[string]int
	Kept     []string // by drivers
	Nodes    []string
	Etcd     []string
	Tokens   int      // with which machines can join
	Files    []string // of machines
	Objects  []string // of the cluster on which a CNF is
}

func (p *lab) state(id string) state {
	p.t.Helper()
	inst, err := p.Get(p.t.Context(), id)
	must(p.t, err)
	s := state{Instance: inst.InstantiationState, VNFCs: map[string]int{}, VIMs: len(inst.VimConnectionInfo), Records: p.Counted(), Tokens: p.World.JoinTokens()}
	if inst.InstantiatedVnfInfo != nil {
		for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
			s.VNFCs[v.VduID]++
		}
	}
	for _, r := range p.Records("state") {
		s.Kept = append(s.Kept, random.ReplaceAllString(r.ID, "*"))
	}
	names := map[string]string{}
	for _, n := range p.World.Nodes() {
		names[n.Address.String()] = p.World.Host(n.Machine).Name()
		s.Nodes = append(s.Nodes, fmt.Sprintf("%s control plane: %t, ready: %t, cordoned: %t", names[n.Address.String()], n.ControlPlane, n.Ready, n.Unschedulable))
	}
	for _, m := range p.World.EtcdMembers() {
		s.Etcd = append(s.Etcd, fmt.Sprintf("%s learner: %t, alive: %t", names[m.Address.String()], m.Learner, m.Alive))
	}
	for _, h := range p.hosts() {
		s.Files = append(s.Files, p.files(h, id)...)
	}
	s.Objects = p.objects()
	if p.World.AnsibleHost(ansible) != nil {
		s.Tokens = 0 // each run of a playbook makes one
	}
	slices.Sort(s.Kept)
	slices.Sort(s.Nodes)
	slices.Sort(s.Etcd)
	slices.Sort(s.Files)
	return s
}

// hosts are the machines, and the Ansible server if there is one.
func (p *lab) hosts() []*sshtest.Host {
	hosts := p.World.Hosts()
	if h := p.World.AnsibleHost(ansible); h != nil {
		hosts = append(hosts, h)
	}
	return hosts
}

func (p *lab) running(id string) bool {
	p.t.Helper()
	inst, err := p.Get(p.t.Context(), id)
	must(p.t, err)
	return inst.InstantiationState == vnflcm.Instantiated
}

// passing are files that come and go: of jobs that never began, which sshexec removes later, logs, which have the name of the operation,
// and connections of Ansible.
var passing = regexp.MustCompile(`/sshexec/jobs/\.new-|/logs/|/\.vnfkit/cp/`)

// temporary are files of uploads that did not end.
var temporary = regexp.MustCompile(`/\.[^/]*\.sshexec-[0-9A-Z]+$`)

// random are parts of names that are others in each run.
var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{12,64}`)

// files are those of a machine with their modes.
func (p *lab) files(h *sshtest.Host, id string) (out []string) {
	p.t.Helper()
	left := !p.running(id) && strings.Contains(p.Log(), "the directory of the inventory is left on the Ansible server") // docs/kubespray.md: terminate
	must(p.t, afero.Walk(h.FS(), "/", func(name string, info fs.FileInfo, err error) error {
		ignored := passing.MatchString(name) || p.cut && temporary.MatchString(name) || left && strings.Contains(name, "/inventory/mycluster/")
		if err == nil && !info.IsDir() && !ignored {
			out = append(out, fmt.Sprintf("%s:%s %v", h.Name(), random.ReplaceAllString(strings.ReplaceAll(name, id, "ID"), "*"), info.Mode()))
		}
		return err
	}))
	return out
}

var kinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "namespaces"}, {Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "persistentvolumeclaims"}, {Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
}

var podSuffix = regexp.MustCompile(`-[0-9a-z]{6,10}-[0-9a-z]{5}$`) // of a pod of a Deployment

// objects are those of the cluster, without pods that are ending.
func (p *lab) objects() (out []string) {
	if p.cluster == nil {
		return nil
	}
	p.t.Helper()
	client, err := dynamic.NewForConfig(p.cluster.Config())
	must(p.t, err)
	for _, kind := range kinds {
		list, err := client.Resource(kind).List(p.t.Context(), metav1.ListOptions{})
		must(p.t, err)
		for _, o := range list.Items {
			if o.GetDeletionTimestamp() == nil {
				out = append(out, kind.Resource+" "+o.GetNamespace()+"/"+random.ReplaceAllString(podSuffix.ReplaceAllString(o.GetName(), ""), "*"))
			}
		}
	}
	slices.Sort(out)
	return out
}
