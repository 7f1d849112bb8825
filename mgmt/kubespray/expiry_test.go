package kubespray_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/expirytest"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// names returns machine and name of certificates.
func names(list []vnflcm.Certificate) []string {
	out := []string{}
	for _, c := range list {
		out = append(out, c.Machine+" "+c.Name)
	}
	return out
}

// file returns the content of a file of a machine.
func (l *lab) file(machine, name string) string {
	l.t.Helper()
	text, err := afero.ReadFile(l.World.Host(machine).FS(), name)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

const (
	apiFile = "masterNode-0 ssl/apiserver.crt"
	etcdDir = "/etc/ssl/etcd/ssl/"
)

// TestCertificates: the certificates in the files of the nodes, and under the same names those that servers show.
func TestCertificates(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*lab) string{
		"made":    func(l *lab) string { return l.Instantiated(sample, clustertest.Sized("simple", 0)) },
		"adopted": func(l *lab) string { return l.Adopted(sample, clustertest.Sized("simple", 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := make(l)
			member := "masterNode-0 " + etcdDir + "member-master-198-18-2-12.pem"
			list, err := l.Certificates(t.Context(), id)
			want := []string{"masterNode-0 " + etcdDir + "admin-master-198-18-2-12.pem", "masterNode-0 " + etcdDir + "ca.pem", member, "masterNode-0 " + etcdDir + "node-master-198-18-2-12.pem",
				"masterNode-0 admin.conf", "masterNode-0 controller-manager.conf", "masterNode-0 kubelet", "masterNode-0 scheduler.conf", "masterNode-0 ssl/apiserver-kubelet-client.crt", apiFile, "masterNode-0 ssl/ca.crt",
				"masterNode-0 ssl/front-proxy-ca.crt", "masterNode-0 ssl/front-proxy-client.crt", "workerNode-0 kubelet"}
			if diff := cmp.Diff(want, names(list)); diff != "" || err != nil {
				t.Errorf("error %v:\n%s", err, diff)
			}
			servers := []string{apiFile, member}
			if name == "made" {
				servers = append(servers, "198.18.0.10:8383 ssl/ca.crt")
			}
			shown, err := expirytest.Served(l.Lab, id, l.World.Dial)
			if diff := cmp.Diff(servers, names(shown)); diff != "" || err != nil {
				t.Errorf("error %v:\n%s", err, diff)
			}
			for _, cert := range shown[:2] {
				if !slices.Contains(list, cert) {
					t.Errorf("%+v is not in the files", cert)
				}
			}
		})
	}
}

// TestServedCertificatesOfStrangers: the API server does not answer and etcd has another authority, or sends too much. Certificates that have
// ended are returned.
func TestServedCertificatesOfStrangers(t *testing.T) {
	t.Parallel()
	var clock clustertest.Clock
	clock.Set(-350 * 24 * time.Hour) // the authorities are older than the certificates that have ended
	l := openLab(t, setup{sandbox: sandbox.Config{Now: clock.Now}})
	id := l.Instantiated(sample, clustertest.Sized("simple", 0))
	ca := pki.Pair{Cert: l.file("masterNode-0", "/etc/kubernetes/ssl/ca.crt"), Key: l.file("masterNode-0", "/etc/kubernetes/pki/ca.key")}
	etcdCA := pki.Pair{Cert: l.file("masterNode-0", etcdDir+"ca.pem"), Key: l.file("masterNode-0", "/etc/kubernetes/pki/etcd/ca.key")}
	year, ended := time.Now().AddDate(1, 0, 0), time.Now().AddDate(0, -1, 0).Truncate(time.Second).UTC()
	member := "masterNode-0 " + etcdDir + "member-master-198-18-2-12.pem"
	for name, c := range map[string]struct {
		api, etcd func(net.Conn)
		want      []string
		faults    []string
	}{
		"silent": {expirytest.Silent, expirytest.Serving(t, &ca, year), []string{}, []string{"the API server of masterNode-0", "the API at 198.18.0.10:8383", "no success within 10s", "another authority"}},
		"ended":  {expirytest.Serving(t, &ca, ended), expirytest.Flooding, []string{apiFile}, []string{"etcd of masterNode-0"}},
		"other":  {expirytest.Serving(t, nil, year), expirytest.Serving(t, &etcdCA, ended), []string{member}, []string{"the API server of masterNode-0", "the API at 198.18.0.10:8383", "another authority"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := expirytest.Served(l.Lab, id, expirytest.Instead(l.World.Dial, map[string]func(net.Conn){"198.18.2.12:6443": c.api, "198.18.0.10:8383": expirytest.Flooding, "198.18.2.12:2379": c.etcd}))
			if diff := cmp.Diff(append(c.want, "198.18.0.10:8383 ssl/ca.crt"), names(list)); diff != "" {
				t.Errorf("error %v:\n%s", err, diff)
			}
			for _, cert := range list {
				if cert.On != "" && !cert.NotAfter.Equal(ended) {
					t.Errorf("%+v", cert)
				}
			}
			for _, fault := range c.faults {
				if err == nil || !strings.Contains(err.Error(), fault) {
					t.Errorf("the error is %v, not %s", err, fault)
				}
			}
		})
	}
}
