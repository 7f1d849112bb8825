package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const planted = "canary-5f1d"

// secretParams are additionalParams with secrets for each driver, beside the password of machines.
var secretParams = map[string]string{
	"k8s-cluster": `{"k8s_cluster_installation_param":{"master_node":{"password":"` + planted + `"},"worker_node":{"password":"` + planted + `"},
		"proxy":{"http_proxy":"http://u:` + planted + `@p:3128"}}}`,
	"k8s-cluster-kubespray": `{"k8s_cluster_installation_param":{"master_node":{"password":"` + planted + `"},"worker_node":{"password":"` + planted + `"},
		"external_lb_param":{"ssh_password":"` + planted + `"},"ansible":{"vault_password":"` + planted + `"}}}`,
	"private-registry": `{"private_registry_installation_param":{"ssh_password":"` + planted + `","server_name":"registry.example.org","tls":{},
		"users":[{"username":"robot","password":"` + planted + `"}],"proxy":{"http_proxy":"http://u:` + planted + `@p:3128"}}}`,
	"cnf":       `{"helm_parameters":{"password":"` + planted + `"}}`,
	"cnf-mciop": `{"mciop_values":{"web":{"password":"` + planted + `","list":[{"key":"` + planted + `"}]}}}`,
}

// TestSecrets plants secrets in requests, collects those that drivers and machines generate (credentials of VIM entries, join tokens,
// certificate keys, passwords of keepalived, private keys), and looks for all of them in logs, events, documents, errors, the store,
// command lines and, but for proxies, environments of machines, after each operation and after one that fails.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range lifecycles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.sandbox.Password = planted
			p := c.open(t)
			secrets := map[string]bool{planted: true}
			if p.cluster != nil {
				secrets[p.cluster.Token()] = true
			}
			params, err := vnflcm.ParseParams([]byte(secretParams[c.pkg]))
			must(t, err)
			p.of.size = func(r *vnflcm.InstantiateVnfRequest) {
				c.size(r)
				r.AdditionalParams, err = r.AdditionalParams.Merge(params)
				must(t, err)
				if slices.Contains(generatedBy[c.name], "password of keepalived") {
					mgmttest.With(t, "k8s_cluster_installation_param", `{"master_node":{"cluster_cp_name":"vip_CP"}}`)(r)
				}
			}
			id := p.Created()
			m := p.Process(func(cfg *vnflcm.Config) { p.addCNF(cfg, p.dial) })
			for _, op := range c.operations() {
				opID, err := op.begin(p, m, id)
				if err == nil {
					_, err = m.Wait(t.Context(), opID)
				}
				must(t, err)
				p.collect(secrets)
				p.untold(op.name, secrets, id, opID, nil)
			}
			for _, kind := range generatedBy[c.name] {
				if p.generated[kind] == 0 {
					t.Errorf("no %s was generated: the test has lost its way", kind)
				}
			}
			p.login = 200 * time.Millisecond // the operation is to fail
			p.failing(secrets)
		})
	}
}

// failing instantiates another VNF, which does not succeed: errors are where secrets come out.
func (p *lab) failing(secrets map[string]bool) {
	p.t.Helper()
	id := p.Created()
	m := p.Process(func(c *vnflcm.Config) {
		p.addCNF(c, func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no connection") })
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			err := next(ctx)
			for _, h := range p.World.Hosts() {
				h.SetFaults(sshtest.Faults{DiskFull: true})
			}
			return err
		}
	})
	opID, err := p.instantiate(m, id)
	if err == nil {
		_, err = m.Wait(p.t.Context(), opID)
	}
	if err == nil {
		p.t.Fatal("it did not fail")
	}
	p.untold("a failing operation", secrets, id, opID, err)
}

// generated are the secrets that drivers and machines make: the first group of each match.
var generated = map[string]*regexp.Regexp{
	"join token":             regexp.MustCompile(`\b([a-z0-9]{6}\.[a-z0-9]{16})\b`),
	"certificate key":        regexp.MustCompile(`certificateKey: "?([0-9a-f]{64})`),
	"password of keepalived": regexp.MustCompile(`auth_pass (\S+)`),
	"private key":            regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----\n(\S{16,})`),
}

// generatedBy are the generated secrets that a lifecycle must have, by its name.
var generatedBy = map[string][]string{
	"kubeadm":                                {"join token", "private key"},
	"kubeadm with three control-plane nodes": {"join token", "certificate key", "password of keepalived", "private key"},
}

// collect adds the credentials of VIM entries, and the generated secrets in files and in what programs read and printed.
func (p *lab) collect(secrets map[string]bool) {
	p.t.Helper()
	find := func(text string) {
		for kind, pattern := range generated {
			for _, found := range pattern.FindAllStringSubmatch(text, -1) {
				secrets[found[1]] = true
				p.generated[kind]++
			}
		}
	}
	for _, h := range p.hosts() {
		must(p.t, afero.Walk(h.FS(), "/", func(name string, info fs.FileInfo, err error) error {
			if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
				return err
			}
			content, err := afero.ReadFile(h.FS(), name)
			find(string(content))
			return err
		}))
		for _, r := range h.Commands() {
			find(r.Stdin() + "\n" + r.Stdout())
		}
	}
	for _, r := range p.Records("vim") {
		vim, err := p.VIMs().Get(p.t.Context(), "", r.ID)
		must(p.t, err)
		var access map[string]any
		_, err = vim.AccessInfo.Decode(&access)
		must(p.t, err)
		for _, name := range []string{"bearer_token", "client_key"} {
			if made, _ := access[name].(string); made != "" {
				secrets[made] = true
			}
		}
	}
}

// untold makes sure that no secret is where people read.
func (p *lab) untold(after string, secrets map[string]bool, id, opID string, failure error) {
	p.t.Helper()
	inst, err1 := p.Get(p.t.Context(), id)
	var occ *vnflcm.VnfLcmOpOcc
	var err2 error
	if opID != "" {
		occ, err2 = p.Operation(p.t.Context(), opID)
	}
	public, err3 := json.Marshal([]any{inst, occ})
	must(p.t, errors.Join(err1, err2, err3))
	told := map[string]string{"log": p.Log(), "events": fmt.Sprintf("%+v", p.Events()), "documents": string(public), "store": p.Stored(),
		"error": fmt.Sprintf("%v %+v %#v", failure, failure, failure)}
	for _, h := range p.hosts() {
		for _, r := range h.Commands() {
			told["command line on "+h.Name()] += strings.Join(r.Argv, " ") + "\n"
			for _, variable := range r.Env {
				if name, _, _ := strings.Cut(variable, "="); !strings.HasSuffix(strings.ToLower(name), "_proxy") { // a proxy has its password there
					told["environment on "+h.Name()] += variable + "\n"
				}
			}
		}
	}
	for where, text := range told {
		for s := range secrets {
			if i := strings.Index(text, s); i >= 0 {
				p.t.Errorf("after %s, %s: %.300s", after, where, text[max(0, i-120):])
			}
		}
	}
}

// TestManInTheMiddle: a server that answers in the place of a machine whose host key the VIM tells, or of the Ansible server whose key the
// request pins, gets no password and no command, at the first login already.
func TestManInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range lifecycles {
		if c.drivers == nil {
			continue // TLS: the certificate of the API is pinned by the VIM, tested in internal/kubeaccess
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := c.open(t)
			impostor := sshtest.Start(t, sshtest.Config{User: "ubuntu", Unexpected: func([]string) {}})
			var met atomic.Int64
			m := p.ProcessOver(func(ctx context.Context, network, _ string) (net.Conn, error) {
				met.Add(1)
				return new(net.Dialer).DialContext(ctx, network, impostor.Addr())
			})
			if h := p.World.AnsibleHost(ansible); h != nil {
				p.of.size = func(r *vnflcm.InstantiateVnfRequest) {
					c.size(r)
					mgmttest.With(t, "k8s_cluster_installation_param", `{"ansible":{"host_key":`+clustertest.Quoted(h.PublicKey())+`}}`)(r)
				}
			}
			opID, err := p.instantiate(m, p.Created())
			if err == nil {
				_, err = m.Wait(t.Context(), opID)
			}
			if _, refused := errors.AsType[*sshexec.HostKeyError](err); !refused {
				t.Errorf("the error is %v", err)
			}
			if met.Load() == 0 || len(impostor.Commands()) > 0 {
				t.Errorf("%d connections to the impostor, which ran %d commands", met.Load(), len(impostor.Commands()))
			}
		})
	}
}
