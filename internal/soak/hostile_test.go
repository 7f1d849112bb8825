package soak_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// hostile texts, each of which would make /pwned where a shell, a template, a configuration file or a path takes it.
var hostile = []string{
	`a'"'"; touch /pwned; echo '"`, `$(touch /pwned)`, "`touch /pwned`", "x\ntouch /pwned\n", "x\r\n[all:vars]\r\nansible_connection=local",
	`--config=/pwned`, `../../../../pwned`, `{{ lookup('pipe', 'touch /pwned') }}`, `{% raw %}{{ 7*7 }}`, "!!python/object/apply:os.system ['touch /pwned']",
	"x\n    server pwned 192.0.2.1:1", `${x:-$(touch /pwned)}`, `%s%n`, "\x00touch /pwned", "\u202etouch /pwned", `'); DROP TABLE records; --`,
}

// optional are attributes of drivers that the sample requests do not give, or give within a list. $ stands for a hostile text in
// quotes, § for one within a longer text.
var optional = map[string][]string{
	"using_helm_install_param": {
		chartParam(`"helmparameter":["greeting=§"]`), chartParam(`"helmparameter":["§=x"]`), chartParam(`"helmparameter":[$]`), chartParam(`"helmreleasename":$`),
		chartParam(`"helmchartfile_path":$`), chartParam(`"exthelmchart":"true","helmchartname":$,"helmrepositoryname":"r","exthelmrepo_url":"https://127.0.0.1:1"`),
		chartParam(`"exthelmchart":"true","helmchartname":"c","helmrepositoryname":$,"exthelmrepo_url":$`),
	},
	"vdu_mapping": {`{"web":{"kind":"Deployment","name":$,"helmreleasename":"shop"}}`, `{"web":{"kind":$,"name":"shop-web"}}`},
	"k8s_cluster_installation_param": {
		`{"proxy":{"http_proxy":$}}`, `{"proxy":{"no_proxy":$}}`, `{"vim_name":$}`, `{"script_path":$}`, `{"kubernetes_version":$}`,
		`{"private_registry_connection_info":[{"connection_type":"1","server":$}]}`, `{"private_registry_connection_info":[{"connection_type":"1","server":"r","username":$,"password":$}]}`,
		`{"kubespray_groups":{"control_plane":$}}`, `{"ansible":{"vault_password":$}}`, `{"ansible":{"host_key":$}}`, `{"master_node":{"become_password":$}}`,
		`{"external_lb_param":{"script_path":$}}`, `{"worker_node":{"private_key":$}}`,
	},
	"private_registry_installation_param": {
		`{"users":[{"username":$,"password":"long enough"}],"tls":{},"server_name":"registry.example.org"}`, `{"users":[{"username":"robot","password":$}],"tls":{},"server_name":"registry.example.org"}`,
		`{"server_name":$,"tls":{}}`, `{"image":$}`, `{"image_path":$}`, `{"port_no":$}`, `{"proxy":{"http_proxy":$}}`, `{"proxy":{"no_proxy":$}}`,
		`{"packages":{"docker_package":$}}`, `{"packages":{"docker_version":$}}`, `{"packages":{"source":"repository","repository_url":$,"repository_key_path":$}}`, `{"volume":{"device":$}}`,
	},
}

// chartParam is a using_helm_install_param of the sample chart with another attribute.
func chartParam(attribute string) string {
	return `[{"exthelmchart":"false","helmchartfile_path":"Files/kubernetes/web-0.1.0.tgz","helmreleasename":"shop",` + attribute + `}]`
}

// injections are additionalParams with one hostile text: in each text of the sample request, and in each optional attribute.
func (p *lab) injections(text string) (out []vnflcm.Params) {
	p.t.Helper()
	quoted, err := json.Marshal(text)
	must(p.t, err)
	add := func(patch string) {
		patch = strings.ReplaceAll(strings.ReplaceAll(patch, "$", string(quoted)), "§", string(quoted[1:len(quoted)-1]))
		params, err := vnflcm.ParseParams([]byte(patch))
		must(p.t, err)
		out = append(out, params)
	}
	data, err := os.ReadFile(packages + p.of.pkg + "/requests/" + p.of.request)
	must(p.t, err)
	var request struct{ AdditionalParams map[string]any }
	must(p.t, json.Unmarshal(data, &request))
	for _, patch := range patches(request.AdditionalParams) {
		add(patch)
	}
	for _, name := range slices.Sorted(maps.Keys(optional)) {
		for _, patch := range optional[name] {
			if request.AdditionalParams[name] != nil {
				add(`{"` + name + `":` + patch + `}`)
			}
		}
	}
	return out
}

// patches are JSON merge patches, each of which has $ for one text of a value.
func patches(value any) (out []string) {
	switch v := value.(type) {
	case string:
		return []string{"$"}
	case []any:
		return []string{"[$]"}
	case map[string]any:
		for name, inner := range v {
			for _, patch := range patches(inner) {
				out = append(out, fmt.Sprintf("{%q:%s}", name, patch))
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestInjection puts hostile texts into additionalParams of the sample requests, one at a time. The request is refused with an error of a readable length, or the
// operation ends in one way or another; no machine and no Ansible server runs the text, and none gets the file.
func TestInjection(t *testing.T) {
	t.Parallel()
	for _, c := range lifecycles {
		if c.name == "kubeadm with three control-plane nodes" {
			continue // the same parameters
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			texts := hostile
			if os.Getenv("VNFKIT_SOAK") == "" {
				texts = hostile[:3] // make soak has all of them
			}
			for _, text := range texts {
				p := c.open(t)
				p.login = 200 * time.Millisecond // many texts are no password
				for _, params := range p.injections(text) {
					p.inject(params)
				}
				p.unharmed(text)
			}
		})
	}
}

// inject instantiates a VNF by a request with these parameters, and removes it.
func (p *lab) inject(params vnflcm.Params) {
	p.t.Helper()
	id := p.Created()
	m := p.Process(func(c *vnflcm.Config) { p.addCNF(c, p.dial) })
	request := p.Request(p.of.request, p.of.size)
	if p.cluster != nil {
		request.VimConnectionInfo = vnflcm.VimConnections{{VimID: cnfVIM}}
	}
	var err error
	request.AdditionalParams, err = request.AdditionalParams.Merge(params)
	must(p.t, err)
	opID, err := m.Instantiate(p.t.Context(), id, request)
	if err != nil {
		p.readable(err)
		return
	}
	if _, err := m.Wait(p.t.Context(), opID); err != nil {
		p.readable(err)
		must(p.t, m.Fail(p.t.Context(), opID))
	}
	if opID, err = m.Terminate(p.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}); err == nil {
		_, err = m.Wait(p.t.Context(), opID)
	}
	if err != nil {
		p.readable(err)
	}
}

func (p *lab) readable(err error) {
	if n := len(err.Error()); n > 8192 {
		p.t.Errorf("the error has %d bytes: %.200s", n, err)
	}
}

// unharmed makes sure that nothing ran the text.
func (p *lab) unharmed(text string) {
	p.t.Helper()
	if _, err := os.Stat("/pwned"); !errors.Is(err, fs.ErrNotExist) { // Helm renders templates in this process
		p.t.Errorf("this machine has /pwned after %q, %v", text, err)
	}
	for _, h := range p.hosts() {
		if found, err := afero.Exists(h.FS(), "/pwned"); found || err != nil {
			p.t.Errorf("%s has /pwned after %q, %v", h.Name(), text, err)
		}
		for _, r := range h.Commands() {
			if r.Argv[0] == "touch" && slices.Contains(r.Argv, "/pwned") {
				p.t.Errorf("%s ran %q after %q", h.Name(), r.Argv, text)
			}
		}
	}
}
