package kubeadm_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"path"
	"slices"
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
	return l.until(time.Now().Add(-time.Hour), text, on, ca)
}

// until returns a certificate like another one, signed by a CA on a machine, that ends at a time.
func (l *lab) until(end time.Time, text string, on *sshtest.Host, ca string) pki.Pair {
	l.t.Helper()
	was, err := pki.Parse([]byte(text))
	if err != nil {
		l.t.Fatal(err)
	}
	signer := pki.Pair{Cert: l.file(on.Name(), kubernetesDir+ca+".crt"), Key: l.file(on.Name(), kubernetesDir+ca+".key")}
	pair, err := pki.Issue(&signer, &x509.Certificate{Subject: was.Subject, DNSNames: was.DNSNames, IPAddresses: was.IPAddresses, KeyUsage: was.KeyUsage,
		ExtKeyUsage: was.ExtKeyUsage, NotAfter: end}, time.Now().AddDate(-1, 0, 0))
	if err != nil {
		l.t.Fatal(err)
	}
	return pair
}

func (l *lab) write(h *sshtest.Host, name, text string) {
	l.t.Helper()
	if err := errors.Join(h.FS().MkdirAll(path.Dir(name), 0o755), afero.WriteFile(h.FS(), name, []byte(text), 0o600)); err != nil {
		l.t.Fatal(err)
	}
}

// answers reports whether a client with the entry of the VIM gets an answer of the API.
func (l *lab) answers(id string) bool {
	l.t.Helper()
	return l.answersAt(id, first(l.Entry(kubeadm.VIMID(id))).AuthURL)
}

// answersAt reports whether such a client gets an answer at another URL.
func (l *lab) answersAt(id, url string) bool {
	l.t.Helper()
	entry := first(l.Entry(kubeadm.VIMID(id)))
	entry.AuthURL = url
	code, _, err := l.Ask(entry, "GET", "/api/v1/nodes", "")
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
		setup        setup
		cluster      []mgmttest.Change
		controlPlane int
		ended        []string // control-plane nodes whose certificates have ended
		kubelets     []string
		answers      bool // before the renewal
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
			l.want(c.controlPlane, 1, 0)
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
			l.want(c.controlPlane, 2, 0)
		})
	}
}

// warnings returns the warnings of an operation, one a line.
func (l *lab) warnings(opID string) string {
	l.t.Helper()
	occ, err := l.Operation(l.t.Context(), opID)
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Join(occ.Warnings, "\n")
}

// client returns a client certificate that has ended, signed by a CA on a machine.
func (l *lab) client(subject pkix.Name, signer pki.Pair) pki.Pair {
	l.t.Helper()
	return first(pki.Issue(&signer, &x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter: time.Now().Add(-time.Hour)}, time.Now().AddDate(-1, 0, 0)))
}

// TestRenewEndedOfStrangers: a worker gets a certificate only for the user of a certificate that the cluster has given it.
func TestRenewEndedOfStrangers(t *testing.T) {
	t.Parallel()
	by := func(user, group string) func(*lab, pki.Pair) string {
		return func(l *lab, ca pki.Pair) string {
			pair := l.client(pkix.Name{CommonName: user, Organization: []string{group}}, ca)
			return pair.Cert + pair.Key
		}
	}
	of := func(l *lab) pki.Pair {
		return l.ended(l.file("masterNode-0", kubeletFile), l.host("masterNode-0"), "pki/ca")
	}
	for name, shown := range map[string]func(l *lab, ca pki.Pair) string{
		"another user":  by("kubernetes-admin", "system:nodes"),
		"another group": by("system:node:worker", "system:masters"),
		"a long name":   by("system:node:"+strings.Repeat("w", 254), "system:nodes"),
		"signed by another party": func(l *lab, _ pki.Pair) string {
			return by("system:node:worker", "system:nodes")(l, first(pki.Issue(nil, &x509.Certificate{Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true,
				KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, NotAfter: time.Now().AddDate(1, 0, 0)}, time.Now().AddDate(-1, 0, 0))))
		},
		"of another node, without the key":  func(l *lab, _ pki.Pair) string { return of(l).Cert },
		"of another node, with another key": func(l *lab, _ pki.Pair) string { return of(l).Cert + of(l).Key },
		"of another node, with its key": func(l *lab, _ pki.Pair) string {
			pair := of(l)
			return pair.Cert + pair.Key
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
			text := shown(l, pki.Pair{Cert: l.file("masterNode-0", kubernetesDir+"pki/ca.crt"), Key: l.file("masterNode-0", kubernetesDir+"pki/ca.key")})
			l.write(l.host("workerNode-0"), kubeletFile, text)
			l.end("masterNode-0")
			l.endKubelets("masterNode-0")
			opID, err := l.Maintain(t.Context(), id, renewal)
			l.Must(opID, err)
			if warnings := l.warnings(opID); !strings.Contains(warnings, "a certificate that the cluster has not given it") {
				t.Errorf("the warnings are %q", warnings)
			}
			if l.file("workerNode-0", kubeletFile) != text {
				t.Error("the machine has got a certificate")
			}
			if !l.restarted("masterNode-0") {
				t.Error("the kubelet of the control-plane node was not restarted")
			}
		})
	}
}

// TestRenewEndedQuorum: a member of etcd that is healthy is not restarted while another one is dead, though its certificate is about to end.
func TestRenewEndedQuorum(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: impatient})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.stop("masterNode-2")
	h, file := l.host("masterNode-1"), kubernetesDir+"pki/etcd/server"
	pair := l.until(time.Now().Add(100*time.Second), l.file(h.Name(), file+".crt"), h, "pki/etcd/ca")
	l.write(h, file+".crt", pair.Cert)
	l.write(h, file+".key", pair.Key)
	opID, err := l.Maintain(t.Context(), id, renewal)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "not healthy") {
		t.Errorf("the error is %v", err)
	}
	if slices.Contains(l.renewed(), "masterNode-1 etcd true") {
		t.Error("the member was restarted")
	}
	if l.file(h.Name(), file+".crt") == pair.Cert {
		t.Error("the certificate was not renewed")
	}
}

// TestRenewEndedPartly: a control-plane node that cannot be renewed does not keep the API of other nodes down, unless too many cannot.
func TestRenewEndedPartly(t *testing.T) {
	t.Parallel()
	foreign := func(l *lab) {
		ca := first(pki.Issue(nil, &x509.Certificate{Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
			BasicConstraintsValid: true, NotAfter: time.Now().AddDate(1, 0, 0)}, time.Now().AddDate(-1, 0, 0)))
		pair := l.client(pkix.Name{CommonName: "system:node:master", Organization: []string{"system:nodes"}}, ca)
		l.write(l.host("masterNode-1"), kubeletFile, pair.Cert+pair.Key)
	}
	without := func(machines ...string) func(*lab) {
		return func(l *lab) {
			for _, name := range machines {
				if err := l.host(name).FS().Remove(kubernetesDir + "pki/ca.key"); err != nil {
					l.t.Fatal(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		spoil   func(*lab)
		warning string
		reason  string // why the operation fails
		most    bool   // of the nodes are renewed
	}{
		"the kubelet of one node is a stranger's": {foreign, "a certificate that the cluster has not given it", "start-api-server on ", true}, // the API does not see its pods
		"one node has no key of the CA":           {without("masterNode-1"), "", "pki/ca.key", true},
		"two nodes have no key of the CA":         {without("masterNode-1", "masterNode-2"), "", "pki/ca.key", false},
		"one node is dead, one has no key": {func(l *lab) {
			l.stop("masterNode-2")
			without("masterNode-1")(l)
		}, "masterNode-2", "pki/ca.key", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{driver: impatient})
			id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
			l.end("masterNode-0", "masterNode-1", "masterNode-2")
			c.spoil(l)
			opID, err := l.Maintain(t.Context(), id, renewal)
			if err := l.Fails(opID, err); !strings.Contains(err.Error(), c.reason) {
				t.Errorf("the error is %v", err)
			}
			if warnings := l.warnings(opID); !strings.Contains(warnings, c.warning) {
				t.Errorf("the warnings are %q", warnings)
			}
			if c.most && !l.answersAt(id, "https://"+l.at("masterNode-0", "6443")) {
				t.Error("the API does not answer")
			}
			if renewed := l.renewed(); !c.most && slices.ContainsFunc(renewed, func(line string) bool { return strings.HasSuffix(line, " true") }) {
				t.Errorf("restarted: %v", renewed)
			}
		})
	}
}

// TestRenewEndedOnWorker: a kubelet of a worker that cannot be renewed is a warning, which names the machine to heal.
func TestRenewEndedOnWorker(t *testing.T) {
	t.Parallel()
	t.Run("the worker fails", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, setup{})
		id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
		l.endKubelets("workerNode-0")
		l.host("workerNode-0").SetFaults(sshtest.Faults{ReadOnly: []string{"/var/lib/kubelet/pki"}})
		opID, err := l.Maintain(t.Context(), id, renewal)
		l.Must(opID, err)
		if warnings := l.warnings(opID); !strings.Contains(warnings, "heal the machine") {
			t.Errorf("the warnings are %q", warnings)
		}
	})
	t.Run("no control-plane node signs", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, setup{driver: impatient})
		id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
		l.endKubelets("workerNode-0")
		l.stop("masterNode-0")
		for _, name := range []string{"masterNode-1", "masterNode-2"} {
			if err := l.host(name).FS().Remove(kubernetesDir + "pki/ca.key"); err != nil {
				t.Fatal(err)
			}
		}
		opID, err := l.Maintain(t.Context(), id, renewal)
		_ = l.Fails(opID, err)
		if warnings := l.warnings(opID); !strings.Contains(warnings, "no control-plane node") || strings.Contains(warnings, "heal the machine") {
			t.Errorf("the warnings are %q", warnings)
		}
	})
}

// TestRenewEndedWithoutFile: a missing file does not hide that other certificates of the node have ended.
func TestRenewEndedWithoutFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file            string
		reason, warning string
	}{
		"another program's": {"scheduler.conf", "has no file /etc/kubernetes/scheduler.conf", ""},
		"of etcd":           {"pki/etcd/server.crt", "has no file /etc/kubernetes/pki/etcd/server.crt", "pki/etcd/server.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{driver: impatient})
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
			l.end("masterNode-0")
			l.endKubelets("masterNode-0")
			if err := l.host("masterNode-0").FS().Remove(kubernetesDir + c.file); err != nil {
				t.Fatal(err)
			}
			opID, err := l.Maintain(t.Context(), id, renewal)
			if err := l.Fails(opID, err); !strings.Contains(err.Error(), c.reason) {
				t.Errorf("the error is %v", err)
			}
			if warnings := l.warnings(opID); !strings.Contains(warnings, c.warning) {
				t.Errorf("the warnings are %q", warnings)
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
