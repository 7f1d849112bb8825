package kubeadm_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/expirytest"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	apiFile  = "pki/apiserver.crt"
	etcdFile = "pki/etcd/server.crt"
	caFile   = "pki/ca.crt"
)

// names returns machine and name of certificates.
func names(list []vnflcm.Certificate) []string {
	out := []string{}
	for _, c := range list {
		out = append(out, c.Machine+" "+c.Name)
	}
	return out
}

// at returns the address of a port of a node.
func (l *lab) at(name, port string) string {
	l.t.Helper()
	for _, n := range l.World.Nodes() {
		if l.World.Host(n.Machine).Name() == name {
			return net.JoinHostPort(n.Address.String(), port)
		}
	}
	l.t.Fatalf("no node %s", name)
	return ""
}

// TestServedCertificates: the certificates that servers show are those in the files, under the same names.
func TestServedCertificates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make    func(*lab) string
		change  func(*lab)
		entry   string // address of the VIM entry
		without []string
	}{
		"driver": {make: func(l *lab) string {
			return l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
		}, entry: "198.18.254.1:16443"},
		"script": {make: func(l *lab) string {
			return l.Instantiated("instantiate_script.json", append(virtual(t), clustertest.Sized("complex", 0))...)
		}, entry: "198.18.254.1:16443"},
		"adopted": {make: func(l *lab) string {
			return l.Adopted("instantiate_script.json", append(virtual(t), clustertest.Sized("complex", 0))...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := c.make(l)
			list, err := expirytest.Served(l.Lab, id, l.World.Dial)
			want := []string{"masterNode-0 " + apiFile, "masterNode-0 " + etcdFile, "masterNode-1 " + apiFile, "masterNode-1 " + etcdFile, "masterNode-2 " + apiFile, "masterNode-2 " + etcdFile}
			if c.entry != "" {
				want = append(want, c.entry+" "+caFile)
			}
			if diff := cmp.Diff(want, names(list)); diff != "" || err != nil {
				t.Fatalf("error %v:\n%s", err, diff)
			}
			for _, cert := range list {
				machine := cert.Machine
				if cert.On == "" {
					machine = "masterNode-0"
				}
				file, err := pki.Parse([]byte(l.file(machine, kubernetesDir+cert.Name)))
				if err != nil || !file.NotAfter.Equal(cert.NotAfter) || !file.NotBefore.Equal(cert.NotBefore) || file.IsCA != cert.IsCA {
					t.Errorf("%+v, the file has %v, %v", cert, file.NotAfter, err)
				}
			}
		})
	}
}

// TestServedCertificatesOfStrangers: servers that do not answer, answer too much or have another authority are named, and the certificates of
// the other servers are returned, also if they have ended.
func TestServedCertificatesOfStrangers(t *testing.T) {
	t.Parallel()
	var clock clustertest.Clock
	clock.Set(-350 * 24 * time.Hour) // the authorities are older than the certificates that have ended
	l := openLab(t, setup{sandbox: sandbox.Config{Now: clock.Now}})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	ca := pki.Pair{Cert: l.file("masterNode-0", kubernetesDir+caFile), Key: l.file("masterNode-0", kubernetesDir+"pki/ca.key")}
	etcdCA := pki.Pair{Cert: l.file("masterNode-0", kubernetesDir+"pki/etcd/ca.crt"), Key: l.file("masterNode-0", kubernetesDir+"pki/etcd/ca.key")}
	year, ended := time.Now().AddDate(1, 0, 0), time.Now().AddDate(0, -1, 0).Truncate(time.Second).UTC()
	list, err := expirytest.Served(l.Lab, id, expirytest.Instead(l.World.Dial, map[string]func(net.Conn){
		l.at("masterNode-0", "6443"): expirytest.Silent, l.at("masterNode-0", "2379"): expirytest.Serving(t, &ca, year),
		l.at("masterNode-1", "6443"): expirytest.Serving(t, &ca, ended), l.at("masterNode-1", "2379"): expirytest.Flooding,
		l.at("masterNode-2", "6443"): expirytest.Serving(t, nil, year), l.at("masterNode-2", "2379"): expirytest.Serving(t, &etcdCA, ended),
	}))
	want := []string{"masterNode-1 " + apiFile, "masterNode-2 " + etcdFile, "198.18.254.1:16443 " + apiFile, "198.18.254.1:16443 " + caFile}
	if diff := cmp.Diff(want, names(list)); diff != "" {
		t.Errorf("error %v:\n%s", err, diff)
	}
	for _, cert := range list[:2] {
		if !cert.NotAfter.Equal(ended) {
			t.Errorf("%+v", cert)
		}
	}
	for _, fault := range []string{
		"the API server of masterNode-0 at 198.18.0.10:6443 cannot be read: no success within 10s",
		"etcd of masterNode-0 at 198.18.0.10:2379 cannot be read: it is a certificate of another authority",
		"etcd of masterNode-1 at 198.18.1.11:2379 cannot be read: ",
		"the API server of masterNode-2 at 198.18.2.12:6443 cannot be read: it is a certificate of another authority",
	} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("the error is %v, not %s", err, fault)
		}
	}
}

// TestServedCertificatesElsewhere: the VNFM reaches only the address of the VIM entry.
func TestServedCertificatesElsewhere(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	list, err := expirytest.Served(l.Lab, id, func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !strings.HasSuffix(addr, ":16443") {
			return nil, errors.New("no route to " + addr)
		}
		return l.World.Dial(ctx, network, addr)
	})
	if diff := cmp.Diff([]string{"198.18.254.1:16443 " + apiFile, "198.18.254.1:16443 " + caFile}, names(list)); diff != "" {
		t.Errorf("error %v:\n%s", err, diff)
	}
	for _, cert := range list {
		if cert.On != "" || cert.NotAfter.IsZero() {
			t.Errorf("%+v", cert)
		}
	}
	for _, name := range []string{"masterNode-0", "masterNode-1", "masterNode-2"} {
		if err == nil || !strings.Contains(err.Error(), "the API server of "+name) || !strings.Contains(err.Error(), "etcd of "+name) {
			t.Errorf("%s is not in %v", name, err)
		}
	}
}

// TestExternalEtcd: a script may make a control plane without members of etcd, and without super-admin.conf.
func TestExternalEtcd(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_script.json", func(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = "simple" })
	for _, name := range []string{"pki/etcd/ca.crt", etcdFile, "pki/etcd/peer.crt", "pki/etcd/healthcheck-client.crt"} {
		if err := l.host("masterNode-0").FS().Remove(kubernetesDir + name); err != nil {
			t.Fatal(err)
		}
	}
	list, err := l.Certificates(t.Context(), id)
	want := []string{"masterNode-0 admin.conf", "masterNode-0 controller-manager.conf", "masterNode-0 kubelet", "masterNode-0 pki/apiserver-etcd-client.crt",
		"masterNode-0 pki/apiserver-kubelet-client.crt", "masterNode-0 " + apiFile, "masterNode-0 " + caFile, "masterNode-0 pki/front-proxy-ca.crt",
		"masterNode-0 pki/front-proxy-client.crt", "masterNode-0 scheduler.conf", "workerNode-0 kubelet"}
	if diff := cmp.Diff(want, names(list)); diff != "" || err != nil {
		t.Errorf("error %v:\n%s", err, diff)
	}
	list, err = expirytest.Served(l.Lab, id, func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasSuffix(addr, ":2379") {
			return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
		}
		return l.World.Dial(ctx, network, addr)
	})
	if diff := cmp.Diff([]string{"masterNode-0 " + apiFile, "198.18.0.10:6443 " + caFile}, names(list)); diff != "" || err != nil {
		t.Errorf("error %v:\n%s", err, diff)
	}
}

// TestServedCertificatesPolicy: no connection to an address that the composition does not allow.
func TestServedCertificatesPolicy(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	l.driver = kubeadm.Config{Allow: func(to netip.AddrPort) error {
		return map[bool]error{true: outbound.ErrAddress}[to.Port() == 6443]
	}}
	list, err := expirytest.Served(l.Lab, id, func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasSuffix(addr, ":6443") {
			t.Errorf("connected to %s", addr)
		}
		return l.World.Dial(ctx, network, addr)
	})
	if diff := cmp.Diff([]string{"masterNode-0 " + etcdFile, "198.18.0.10:6443 " + caFile}, names(list)); diff != "" || !errors.Is(err, outbound.ErrAddress) {
		t.Errorf("error %v:\n%s", err, diff)
	}
}

// TestServedCertificatesBehindJumpHost: the servers are reached through the jump host of the VIM alone, which also tells of a closed port.
func TestServedCertificatesBehindJumpHost(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	var led atomic.Int32
	var external atomic.Bool
	jump := sshtest.Start(t, sshtest.Config{Name: "jump", User: "jumper", Password: "overTheWall", Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		led.Add(1)
		if external.Load() && strings.HasSuffix(addr, ":2379") {
			return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
		}
		return l.World.Dial(ctx, network, addr)
	}})
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != jump.Addr() {
			return nil, errors.New("no route to " + addr)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	l.Manager = l.ProcessOver(dial)
	l.registerJumpHost(`{"address":"` + jump.Addr() + `","username":"jumper","password":"overTheWall"}`)
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	led.Store(0)
	list, err := expirytest.Served(l.Lab, id, dial)
	if diff := cmp.Diff([]string{"masterNode-0 " + apiFile, "masterNode-0 " + etcdFile, "198.18.0.10:6443 " + caFile}, names(list)); diff != "" || err != nil || led.Load() != 2 {
		t.Errorf("%d connections, error %v:\n%s", led.Load(), err, diff)
	}
	external.Store(true)
	list, err = expirytest.Served(l.Lab, id, dial)
	if diff := cmp.Diff([]string{"masterNode-0 " + apiFile, "198.18.0.10:6443 " + caFile}, names(list)); diff != "" || err != nil {
		t.Errorf("error %v:\n%s", err, diff)
	}
}

// TestKeepEtcdCA: the authority of etcd is stored when the cluster is registered, and replaced with the cluster.
func TestKeepEtcdCA(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	healthy := func() {
		t.Helper()
		list, err := expirytest.Served(l.Lab, id, l.World.Dial)
		if err != nil || !slices.Contains(names(list), "masterNode-0 "+etcdFile) {
			t.Errorf("%v, %v", names(list), err)
		}
	}
	healthy()
	l.Must(l.Heal(t.Context(), id, wholeHeal))
	healthy()
	ca := pki.Pair{Cert: l.file("masterNode-0", kubernetesDir+caFile), Key: l.file("masterNode-0", kubernetesDir+"pki/ca.key")}
	list, err := expirytest.Served(l.Lab, id, expirytest.Instead(l.World.Dial, map[string]func(net.Conn){l.at("masterNode-0", "2379"): expirytest.Serving(t, &ca, time.Now().AddDate(1, 0, 0))}))
	if err == nil || slices.Contains(names(list), "masterNode-0 "+etcdFile) {
		t.Errorf("%v, %v", names(list), err)
	}
}

// TestKeepEtcdCAOnly: of the file with the authority of etcd, only the authority is stored. A certificate that is no authority is not.
func TestKeepEtcdCAOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   func(*lab) string
		stored bool
	}{
		"with a key and other text": {func(l *lab) string {
			return l.file("masterNode-0", kubernetesDir+"pki/etcd/ca.crt") + l.file("masterNode-0", kubernetesDir+"pki/etcd/ca.key") + strings.Repeat("# other text\n", 10_000)
		}, true},
		"not an authority": {func(l *lab) string { return l.file("masterNode-0", kubernetesDir+etcdFile) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			l.Manager = l.Process(func(cfg *vnflcm.Config) {
				cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					if s.Name == "register-vim" {
						l.write(l.host("masterNode-0"), kubernetesDir+"pki/etcd/ca.crt", c.text(l))
					}
					return next(ctx)
				}
			})
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
			list, err := l.Store.List(t.Context(), store.Query{Kind: "state", Prefix: id + "/etcd-ca"})
			if err != nil || len(list) > 0 != c.stored {
				t.Fatalf("%d records, %v", len(list), err)
			}
			for _, r := range list {
				if len(r.Body) > 10_000 {
					t.Errorf("%d bytes are stored", len(r.Body))
				}
			}
		})
	}
}

// TestServedCertificatesOfChangedEntry: a client replaces the address in the VIM entry. The nodes are asked all the same, and no server
// outside of the cluster.
func TestServedCertificatesOfChangedEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url, fault string
		api        bool // the certificate at the address of the entry is returned
	}{
		"the virtual address":  {url: "https://198.18.254.1:16443", api: true},
		"a worker":             {url: "https://198.18.1.10:22222", fault: "198.18.1.10:22222"},
		"another address":      {url: "https://203.0.113.7:2379", fault: "the API at 203.0.113.7:2379 is not asked: accessInfo.auth_url of"},
		"a name":               {url: "https://api.example.org:6443", fault: "the API at api.example.org:6443 is not asked: accessInfo.auth_url of"},
		"not a URL":            {url: "https://user:canary@%zz", fault: "auth_url of the cluster's VIM entry is not a URL with a host"},
		"a URL without a host": {url: "198.18.254.1", fault: "auth_url of the cluster's VIM entry is not a URL with a host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
			access, err := vnflcm.NewParams(map[string]string{"auth_url": c.url, "bearer_token": "t", "ssl_ca_cert": l.file("masterNode-0", kubernetesDir+caFile)})
			if err != nil {
				t.Fatal(err)
			}
			vim := kubeadm.VIMID(id)
			l.Must(l.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{
				VimConnectionInfo: vnflcm.VimConnections{{ID: vim, VimID: vim, VimType: kubeadm.VIMType, AccessInfo: access}}}, ""))
			list, err := expirytest.Served(l.Lab, id, func(ctx context.Context, network, addr string) (net.Conn, error) {
				switch {
				case strings.HasPrefix(addr, "203.0.113.7:"), strings.HasPrefix(addr, "api.example.org:"):
					t.Errorf("connected to %s", addr)
				case addr == l.at("masterNode-0", "6443"), strings.HasPrefix(addr, "198.18.1.10:"):
					return nil, errors.New("no route to " + addr)
				}
				return l.World.Dial(ctx, network, addr)
			})
			got := names(list)
			for _, want := range []string{"masterNode-0 " + etcdFile, "masterNode-1 " + apiFile, "masterNode-2 " + etcdFile} {
				if !slices.Contains(got, want) {
					t.Errorf("%s is not in %v", want, got)
				}
			}
			if slices.Contains(got, "198.18.254.1:16443 "+apiFile) != c.api {
				t.Errorf("read %v", got)
			}
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "canary") {
				t.Errorf("the error is %v, want %s", err, c.fault)
			}
		})
	}
}
