package kubeadm_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const kubeletFile = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// end replaces the certificates of control-plane nodes by ones that ended an hour ago, as if their programs had read them.
func (l *lab) end(machines ...string) {
	l.t.Helper()
	for _, name := range machines {
		h := l.host(name)
		for file, ca := range map[string]string{"pki/apiserver": "pki/ca", "pki/apiserver-kubelet-client": "pki/ca", "pki/apiserver-etcd-client": "pki/etcd/ca",
			"pki/front-proxy-client": "pki/front-proxy-ca", "pki/etcd/server": "pki/etcd/ca", "pki/etcd/peer": "pki/etcd/ca", "pki/etcd/healthcheck-client": "pki/etcd/ca"} {
			pair := l.ended(l.file(name, kubernetesDir+file+".crt"), h, ca)
			l.write(h, kubernetesDir+file+".crt", pair.Cert)
			l.write(h, kubernetesDir+file+".key", pair.Key)
		}
		for _, file := range []string{"admin.conf", "controller-manager.conf", "scheduler.conf"} {
			text := l.file(name, kubernetesDir+file)
			cert, key, err := kubeapi.UserOf([]byte(text))
			if err != nil {
				l.t.Fatal(err)
			}
			pair := l.ended(cert, h, "pki/ca")
			encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
			l.write(h, kubernetesDir+file, strings.NewReplacer(encode(cert), encode(pair.Cert), encode(key), encode(pair.Key)).Replace(text))
		}
		for _, pod := range staticPods {
			manifest := kubernetesDir + "manifests/" + pod + ".yaml"
			l.write(h, manifest, l.file(name, manifest)+"# started again\n")
		}
	}
}

// endKubelets replaces the certificates of the kubelets of machines by ones that have ended.
func (l *lab) endKubelets(machines ...string) {
	l.t.Helper()
	for _, name := range machines {
		pair := l.ended(l.file(name, kubeletFile), l.host("masterNode-0"), "pki/ca")
		l.write(l.host(name), kubeletFile, pair.Cert+pair.Key)
	}
}

// ended returns a certificate like another one, signed by a CA on a machine, that has ended.
func (l *lab) ended(text string, on *sshtest.Host, ca string) pki.Pair {
	l.t.Helper()
	was, err := pki.Parse([]byte(text))
	if err != nil {
		l.t.Fatal(err)
	}
	signer := pki.Pair{Cert: l.file(on.Name(), kubernetesDir+ca+".crt"), Key: l.file(on.Name(), kubernetesDir+ca+".key")}
	pair, err := pki.Issue(&signer, &x509.Certificate{Subject: was.Subject, DNSNames: was.DNSNames, IPAddresses: was.IPAddresses, KeyUsage: was.KeyUsage,
		ExtKeyUsage: was.ExtKeyUsage, NotAfter: time.Now().Add(-time.Hour)}, time.Now().AddDate(-1, 0, 0))
	if err != nil {
		l.t.Fatal(err)
	}
	return pair
}

func (l *lab) write(h *sshtest.Host, name, text string) {
	l.t.Helper()
	if err := afero.WriteFile(h.FS(), name, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// answers reports whether a client with the entry of the VIM gets an answer of the API.
func (l *lab) answers(id string) bool {
	l.t.Helper()
	code, _, err := l.Ask(first(l.Entry(kubeadm.VIMID(id))), "GET", "/api/v1/nodes", "")
	return err == nil && code == 200
}

// restarted reports whether the kubelet of a machine has been restarted.
func (l *lab) restarted(name string) bool {
	l.t.Helper()
	for _, r := range l.host(name).Commands() {
		if strings.Join(r.Argv, " ") == "systemctl restart kubelet" && r.Code == 0 {
			return true
		}
	}
	return false
}

// TestRenewEnded: a cluster whose certificates have ended works after a renewal.
func TestRenewEnded(t *testing.T) {
	t.Parallel()
	three := []string{"masterNode-0", "masterNode-1", "masterNode-2"}
	for name, c := range map[string]struct {
		setup    setup
		cluster  []mgmttest.Change
		masters  int
		ended    []string // control-plane nodes whose certificates have ended
		kubelets []string
		answers  bool // before the renewal
	}{
		"one node":              {setup{}, []mgmttest.Change{clustertest.Sized("simple", 0)}, 1, three[:1], []string{"masterNode-0", "workerNode-0"}, false},
		"three nodes":           {setup{}, append(virtual(t), clustertest.Sized("complex", 0)), 3, three, append([]string{"workerNode-0"}, three...), false},
		"one after the other":   {setup{driver: kubeadm.Config{Parallel: 1}}, append(virtual(t), clustertest.Sized("complex", 0)), 3, three, append([]string{"workerNode-0"}, three...), false},
		"two of three nodes":    {setup{}, append(virtual(t), clustertest.Sized("complex", 0)), 3, three[1:], three[1:], false},
		"one of three nodes":    {setup{}, append(virtual(t), clustertest.Sized("complex", 0)), 3, three[2:], nil, true},
		"kubelet of a worker":   {setup{}, []mgmttest.Change{clustertest.Sized("simple", 0)}, 1, nil, []string{"workerNode-0"}, true},
		"behind load balancers": {setup{pkg: balancerPackage}, behind(t, "complex", 0), 3, three, three, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, c.setup)
			id := l.Instantiated("instantiate_sandbox.json", c.cluster...)
			l.endKubelets(c.kubelets...)
			l.end(c.ended...)
			if answers := l.answers(id); answers != c.answers {
				t.Fatalf("the API answers: %t", answers)
			}
			l.Must(l.Maintain(t.Context(), id, renewal))
			l.want(c.masters, 1, 0)
			list, err := l.Certificates(t.Context(), id)
			if err != nil {
				t.Error(err)
			}
			for _, cert := range list {
				if time.Until(cert.NotAfter) < 364*24*time.Hour {
					t.Errorf("%s on %s ends on %s", cert.Name, cert.Machine, cert.NotAfter)
				}
			}
			for _, line := range l.renewed() {
				if !strings.HasSuffix(line, " true") {
					t.Errorf("not restarted: %s", line)
				}
			}
			for _, name := range c.kubelets {
				if !l.restarted(name) {
					t.Errorf("the kubelet of %s was not restarted", name)
				}
			}
			if !l.answers(id) {
				t.Error("the API does not answer clients of the VIM")
			}
			l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			l.want(c.masters, 2, 0)
		})
	}
}

// TestRenewEndedOfStrangers: a worker gets a certificate only for the user of a certificate that the cluster has given it.
func TestRenewEndedOfStrangers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subject  pkix.Name
		stranger bool // signs the certificate
	}{
		"another user":            {pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:nodes"}}, false},
		"another group":           {pkix.Name{CommonName: "system:node:worker", Organization: []string{"system:masters"}}, false},
		"signed by another party": {pkix.Name{CommonName: "system:node:worker", Organization: []string{"system:nodes"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
			h := l.host("masterNode-0")
			signer := pki.Pair{Cert: l.file(h.Name(), kubernetesDir+"pki/ca.crt"), Key: l.file(h.Name(), kubernetesDir+"pki/ca.key")}
			if c.stranger {
				signer = first(pki.Issue(nil, &x509.Certificate{Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
					BasicConstraintsValid: true, NotAfter: time.Now().AddDate(1, 0, 0)}, time.Now().AddDate(-1, 0, 0)))
			}
			pair := first(pki.Issue(&signer, &x509.Certificate{Subject: c.subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
				NotAfter: time.Now().Add(-time.Hour)}, time.Now().AddDate(-1, 0, 0)))
			l.write(l.host("workerNode-0"), kubeletFile, pair.Cert+pair.Key)
			l.end("masterNode-0")
			opID, err := l.Maintain(t.Context(), id, renewal)
			l.Must(opID, err)
			occ, err := l.Operation(t.Context(), opID)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(occ.Warnings, "\n"), "a certificate that the cluster has not given it") {
				t.Errorf("the warnings are %q", occ.Warnings)
			}
			if text := l.file("workerNode-0", kubeletFile); text != pair.Cert+pair.Key {
				t.Error("the machine has got a certificate")
			}
		})
	}
}

// TestRenewEndedBesideDead: the API answers again although a control-plane node is dead, which can be healed then.
func TestRenewEndedBesideDead(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: impatient})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.end("masterNode-0", "masterNode-1", "masterNode-2")
	l.stop("masterNode-2")
	opID, err := l.Maintain(t.Context(), id, renewal)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "not healthy") {
		t.Errorf("the error is %v", err)
	}
	if !l.answers(id) {
		t.Error("the API does not answer")
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-2")}))
	l.Must(l.Maintain(t.Context(), id, renewal))
	l.want(3, 1, 0)
}

// TestRenewEndedAgain: an attempt that follows continues, also if the certificates in the files have not ended any more.
func TestRenewEndedAgain(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: impatient})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.end("masterNode-0", "masterNode-1", "masterNode-2")
	manifest := kubernetesDir + "manifests/etcd.yaml"
	text := l.file("masterNode-1", manifest)
	l.write(l.host("masterNode-1"), manifest, "no manifest")
	opID, err := l.Maintain(t.Context(), id, renewal)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "is no manifest of a pod") {
		t.Errorf("the error is %v", err)
	}
	l.write(l.host("masterNode-1"), manifest, text)
	l.Must(opID, l.Retry(t.Context(), opID))
	l.want(3, 1, 0)
	for _, line := range l.renewed() {
		if !strings.HasSuffix(line, " true") {
			t.Errorf("not restarted: %s", line)
		}
	}
}
