package docs_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// plays are failures of operations.md, by the heading of the entry. Each function causes the failure in a cluster of three control-plane
// nodes and two workers, and does what the entry advises.
var plays = map[string]func(*played){
	"Another operation holds the instance":  playLock,
	"The entry of a VIM is missing":         playMissingEntry,
	"A machine refuses the login":           playRefusedLogin,
	"kubeadm init or join fails":            playFailedJoin,
	"Pods do not leave a node":              playBlockedDrain,
	"A volume stays attached to a node":     playAttachedVolume,
	"A machine shows another host key":      playOtherHostKey,
	"A worker is dead or cut off":           playPartition,
	"etcd has no quorum":                    playLostQuorum,
	"The store is sealed under another key": playOtherKey,
}

// played is a cluster in which a failure is caused.
type played struct {
	*clustertest.Lab
	t     *testing.T
	entry failure
	clock *clustertest.Clock
	id    string
}

// wants checks that the text has an error that the entry quotes.
func (p *played) wants(text string) {
	p.t.Helper()
	if !slices.ContainsFunc(p.entry.errors(), func(quoted string) bool { return pattern(quoted).MatchString(text) }) {
		p.t.Errorf("no error of the entry, %q, is in:\n%s", p.entry.errors(), text)
	}
}

// fails waits for an operation that ends in FAILED_TEMP with an error of the entry.
func (p *played) fails(opID string, err error) {
	p.t.Helper()
	p.wants(p.Fails(opID, err).Error())
}

// vnfcs returns the ids of the VNFCs on these machines.
func (p *played) vnfcs(machines ...string) (ids []string) {
	p.t.Helper()
	for _, v := range p.VNFCs(p.id) {
		if h := p.World.Host(v.ComputeResource.ResourceID); h != nil && slices.Contains(machines, h.Name()) {
			ids = append(ids, v.ID)
		}
	}
	if len(ids) != len(machines) {
		p.t.Fatalf("%q have the ids %q", machines, ids)
	}
	return ids
}

func (p *played) scale(kind vnflcm.ScaleType) (string, error) {
	return p.Scale(p.t.Context(), p.id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance"})
}

func (p *played) heal(attributes string, machines ...string) (string, error) {
	p.t.Helper()
	params, err := vnflcm.ParseParams([]byte(attributes))
	check(p.t, err)
	request := vnflcm.HealVnfRequest{AdditionalParams: params}
	if len(machines) > 0 {
		request.VnfcInstanceID = p.vnfcs(machines...)
	}
	return p.Heal(p.t.Context(), p.id, request)
}

// post creates an object in the cluster.
func (p *played) post(path, object string) {
	p.t.Helper()
	access, _ := p.Entry(kubeadm.VIMID(p.id))
	code, body, err := p.Ask(access, http.MethodPost, path, object)
	if code != http.StatusCreated || err != nil {
		p.t.Fatalf("%d %s %v", code, body, err)
	}
}

// remove removes an object, or all of a list.
func (p *played) remove(path string) {
	p.t.Helper()
	access, _ := p.Entry(kubeadm.VIMID(p.id))
	if code, body, err := p.Ask(access, http.MethodDelete, path, ""); code != http.StatusOK || err != nil {
		p.t.Fatalf("%d %s %v", code, body, err)
	}
}

// TestPlayedFailures causes failures of operations.md, and compares the errors with those that the entries quote.
func TestPlayedFailures(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, clock *clustertest.Clock, from *mgmttest.Snapshot) *clustertest.Lab {
		return clustertest.Open(t, mgmttest.Setup{Sandbox: sandbox.Config{Virtual: []string{"vip_CP"}, Now: clock.Now}, From: from, Package: samples,
			Drivers: func(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
				return map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": kubeadm.New(kubeadm.Config{Pool: pool,
					Timeouts: kubeadm.Timeouts{Drain: 2 * time.Second, Detach: 2 * time.Second, Login: 2 * time.Second}})}
			}})
	}
	clock := new(clustertest.Clock)
	first := open(t, clock, nil)
	id := first.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 1),
		mgmttest.With(t, "k8s_cluster_installation_param", `{"master_node":{"cluster_cp_name":"vip_CP"}}`))
	made := first.Snapshot()
	for _, entry := range failures(t) {
		if plays[entry.name] == nil {
			continue
		}
		t.Run(entry.name, func(t *testing.T) {
			plays[entry.name](&played{open(t, clock, made), t, entry, clock, id})
		})
	}
}

func playLock(p *played) {
	check(p.t, p.World.Stop("masterNode-0"))
	opID, err := p.heal(`{}`, "masterNode-1") // without it two of three members are left, of which one is dead
	p.Fails(opID, err)
	_, err = p.scale(vnflcm.ScaleIn)
	if !errors.Is(err, vnflcm.ErrConflict) {
		p.t.Error(err)
	}
	p.wants(err.Error())
	check(p.t, p.Fail(p.t.Context(), opID))
	p.Must(p.scale(vnflcm.ScaleOut))
}

func playMissingEntry(p *played) {
	entry, err := p.VIMs().Get(p.t.Context(), "", "sandbox")
	check(p.t, err)
	check(p.t, p.VIMs().Remove(p.t.Context(), "", "sandbox"))
	_, err = p.scale(vnflcm.ScaleOut)
	p.wants(err.Error())
	check(p.t, p.VIMs().Put(p.t.Context(), entry))
	p.Must(p.scale(vnflcm.ScaleOut))
	p.WantNodes(3, 3, 0)
}

func playRefusedLogin(p *played) {
	host := p.World.Host("masterNode-1")
	host.SetFaults(sshtest.Faults{RefuseLogin: true})
	host.CutConnections()
	p.World.Host("masterNode-0").SetFaults(sshtest.Faults{RefuseLogin: true})
	opID, err := p.scale(vnflcm.ScaleOut)
	p.fails(opID, err)
	for _, h := range p.World.Hosts() {
		h.SetFaults(sshtest.Faults{})
	}
	p.Must(opID, p.Retry(p.t.Context(), opID))
	p.WantNodes(3, 3, 0)
}

// playFailedJoin lets a day pass when kubeadm join begins: its token has expired then.
func playFailedJoin(p *played) {
	defer p.clock.Set(0)
	var once sync.Once
	m := p.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if h := p.World.Host("workerNode-2"); h != nil {
				once.Do(func() { h.OnCommand(p.expireToken) })
			}
			return next(ctx)
		}
	})
	opID, err := m.Scale(p.t.Context(), p.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	p.wants(p.Fails(opID, err, m).Error())
	p.clock.Set(0)
	check(p.t, m.Close(p.t.Context()))
	p.World.Host("workerNode-2").OnCommand(nil)
	p.Must(opID, p.Retry(p.t.Context(), opID))
	p.WantNodes(3, 3, 0)
}

func (p *played) expireToken(r sshtest.Record) {
	if !r.BuiltIn && r.Argv[0] == "kubeadm" && slices.Contains(r.Argv, "join") {
		p.clock.Set(24 * time.Hour)
	}
}

func playBlockedDrain(p *played) {
	p.RunStatefulSet(kubeadm.VIMID(p.id), 2)
	p.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
		"metadata": {"name": "all"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "db"}}}}`)
	opID, err := p.scale(vnflcm.ScaleIn)
	p.fails(opID, err)
	p.remove("/apis/policy/v1/namespaces/default/poddisruptionbudgets/all")
	p.Must(opID, p.Retry(p.t.Context(), opID))
	p.WantNodes(3, 1, 0)
}

func playAttachedVolume(p *played) {
	for _, n := range p.World.Nodes() {
		if !n.ControlPlane {
			p.post("/apis/storage.k8s.io/v1/volumeattachments", `{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
				"metadata": {"name": "csi-`+n.Name+`"}, "spec": {"attacher": "d", "nodeName": "`+n.Name+`", "source": {"persistentVolumeName": "pv"}}}`)
		}
	}
	opID, err := p.scale(vnflcm.ScaleIn)
	p.fails(opID, err)
	p.remove("/apis/storage.k8s.io/v1/volumeattachments")
	p.Must(opID, p.Retry(p.t.Context(), opID))
	p.WantNodes(3, 1, 0)
}

func playPartition(p *played) {
	p.RunStatefulSet(kubeadm.VIMID(p.id), 2)
	check(p.t, p.World.Partition("workerNode-1"))
	found, err := p.Diagnose(p.t.Context(), p.id)
	check(p.t, err)
	var text strings.Builder
	for _, f := range found {
		text.WriteString(f.Detail + "\n")
	}
	p.wants(text.String())
	p.Must(p.heal(`{}`, "workerNode-1"))
	p.WantNodes(3, 2, 0)
	p.WantStatefulSet(kubeadm.VIMID(p.id), 2)
}

func playLostQuorum(p *played) {
	lost := []string{"masterNode-0", "masterNode-1"}
	for _, name := range lost {
		check(p.t, p.World.Stop(name))
	}
	opID, err := p.heal(`{}`, lost...)
	p.fails(opID, err)
	check(p.t, p.Fail(p.t.Context(), opID))
	_, err = p.heal(`{}`)
	p.wants(err.Error())
	_, err = p.heal(`{"restore": "survivor"}`, lost...)
	p.wants(err.Error())
	p.Must(p.heal(`{"restore": "survivor", "confirm_loss": true}`, lost...))
	p.WantNodes(3, 2, 0)
}

func playOtherHostKey(p *played) {
	host := p.World.Host("masterNode-1")
	check(p.t, host.ReplaceHostKey())
	host.CutConnections()
	_, err := p.Certificates(p.t.Context(), p.id)
	if err == nil {
		p.t.Fatal("the other host key was accepted")
	}
	p.wants(err.Error())
	p.Must(p.heal(`{}`, "masterNode-1"))
	p.WantNodes(3, 2, 0)
}

func playOtherKey(p *played) {
	config := vnflcm.Config{Store: p.Store, Key: bytes.Repeat([]byte{8}, 32), Packages: vnflcm.DirPackages(samples)}
	_, err := vnflcm.New(p.t.Context(), config)
	if !errors.Is(err, vnflcm.ErrUnreadable) {
		p.t.Fatal(err)
	}
	p.wants(err.Error())
}
