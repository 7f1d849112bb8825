package inventory_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestRoundTrip and FuzzRoundTrip check that Ansible reads the values that were written. INI files are read by Python's
// parsers, called as Ansible calls them. e2e-kubespray repeats the check with Ansible itself.
func TestRoundTrip(t *testing.T) {
	reader := startPython(t)
	for _, o := range []inventory.Options{{}, {Secrets: inventory.SecretsInline}} {
		for name, g := range forms(o) {
			t.Run(fmt.Sprint(name, o), func(t *testing.T) { sameAfter(t, reader, g, hostile()) })
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("worker-10-10-0-7", "ubuntu", "secret", "/keys/a", "text")
	f.Add("a", "{{ x }}", "{{ 7 * 7 }}#'\"\\", "/a b", "[1, '{{ x }}']")
	f.Add("1.5", "12", "True", "~/.ssh/id", "\u2028\u0085\x00\r\n😀\ufeff")
	f.Add("x", "None", "'", "#", "yes")
	f.Add("x", "=", "0x10", "1_000", "1:30")
	reader := startPython(f)
	f.Fuzz(func(t *testing.T, name, user, password, key, value string) {
		inv := inventory.Inventory{Nodes: []inventory.Node{{
			Name: name, Address: netip.MustParseAddr("10.0.0.1"), User: user, KeyFile: key, Roles: []inventory.Role{inventory.ControlPlane, inventory.Etcd}, EtcdMember: "e",
			Password: vnflcm.NewSecret(password), BecomePassword: vnflcm.NewSecret(password),
			Vars: map[string]any{"text": value, "list": []any{value, map[string]any{"k": value}}, "secret": vnflcm.NewSecret(value)},
		}}, GroupVars: map[string]map[string]any{"kube_node": {"text": value, "secret": vnflcm.NewSecret(value)}}}
		for _, o := range []inventory.Options{{}, {Secrets: inventory.SecretsInline}} {
			for _, g := range forms(o) {
				if _, err := g.Generate(inv); err == nil {
					sameAfter(t, reader, g, inv)
				}
			}
		}
	})
}

// sameAfter writes an inventory, reads it again and compares the variables of hosts and groups.
func sameAfter(t *testing.T, reader *python, g inventory.Generator, inv inventory.Inventory) {
	t.Helper()
	files := generate(t, g, inv)
	groups := map[string]map[string]any{}
	for _, f := range files[1:] {
		group := strings.Split(f.Path, "/")[1]
		for name, value := range readYAML(t, f.Content).(map[string]any) {
			if groups[group] == nil {
				groups[group] = map[string]any{}
			}
			groups[group][name] = value
		}
	}
	var hosts map[string]map[string]any
	if _, isINI := g.(inventory.INI); isINI {
		hosts = reader.hosts(t, files[0].Content)
	} else {
		hosts = map[string]map[string]any{}
		all := readYAML(t, files[0].Content).(map[string]any)["all"].(map[string]any)
		for host, vars := range all["hosts"].(map[string]any) {
			hosts[host], _ = vars.(map[string]any)
		}
	}
	for _, n := range inv.Nodes {
		for name, value := range hosts[n.Name] {
			hosts[n.Name][name] = resolve(groups["all"], value)
		}
		if diff := cmp.Diff(asJSON(t, variablesOf(n)), asJSON(t, hosts[n.Name])); diff != "" {
			t.Errorf("%s: %s\n%s", n.Name, diff, text(files))
		}
	}
	for group, vars := range inv.GroupVars {
		for name, want := range vars {
			if diff := cmp.Diff(asJSON(t, want), asJSON(t, groups[group][name])); diff != "" {
				t.Errorf("%s: %s: %s\n%s", group, name, diff, text(files))
			}
		}
	}
}

// variablesOf returns the variables that a node has in an inventory.
func variablesOf(n inventory.Node) map[string]any {
	out := map[string]any{}
	for name, value := range n.Vars {
		out[name] = value
	}
	for name, value := range map[string]string{
		"ansible_host": n.Address.String(), "ip": n.IP.String(), "etcd_member_name": n.EtcdMember, "ansible_user": n.User, "ansible_password": n.Password.Reveal(),
		"ansible_become_password": n.BecomePassword.Reveal(), "ansible_ssh_private_key_file": n.KeyFile,
	} {
		if value != "" && value != (netip.Addr{}).String() {
			out[name] = value
		}
	}
	if n.Port != 0 {
		out["ansible_port"] = n.Port
	}
	return out
}

var reference = regexp.MustCompile(`^\{\{ (vnfkit_secrets|vnfkit_values)\['([^']+)'\]\['([^']+)'\](?: \| string)? \}\}$`)

// resolve returns the value in the dictionary that a host refers to, or the value itself if it is not a reference.
func resolve(all map[string]any, value any) any {
	template, _ := value.(inventory.Template)
	m := reference.FindStringSubmatch(string(template))
	if m == nil {
		return value
	}
	hosts, _ := all[m[1]].(map[string]any)
	vars, _ := hosts[m[2]].(map[string]any)
	return vars[m[3]]
}

// asJSON writes a value as JSON in which strings, templates and numbers differ.
func asJSON(t *testing.T, value any) string {
	t.Helper()
	out, err := json.MarshalIndent(marked(value), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func marked(value any) any {
	switch v := value.(type) {
	case vnflcm.Secret:
		return v.Reveal()
	case inventory.Template:
		return map[string]string{"template": string(v)}
	case float64:
		return map[string]float64{"float": v}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = marked(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key := range v {
			out[key] = marked(v[key])
		}
		return out
	}
	return value
}

// evaluated returns a value in which the strings that Ansible evaluates are templates.
func evaluated(value any) any {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") || strings.Contains(v, "{%") || strings.Contains(v, "{#") {
			return inventory.Template(v)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
	case []any:
		for i := range v {
			v[i] = evaluated(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = evaluated(v[key])
		}
	}
	return value
}

// readYAML reads a document. A string that is not marked as data is a template if it looks like one.
func readYAML(t *testing.T, content []byte) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	return readNode(t, doc.Content[0])
}

func readNode(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.SequenceNode:
		out := []any{}
		for _, each := range n.Content {
			out = append(out, readNode(t, each))
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = readNode(t, n.Content[i+1])
		}
		return out
	}
	if n.Tag == "!unsafe" {
		return n.Value
	}
	var value any
	if err := n.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return evaluated(value)
}

// pythonSource reads hosts of INI inventories, one line of JSON per inventory, as lib/ansible/plugins/inventory/ini.py
// does.
const pythonSource = `
import ast, json, shlex, sys
for request in sys.stdin:
    hosts, section = {}, None
    for line in json.loads(request).splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif line and section == "[all]":
            words = shlex.split(line, comments=True)
            variables = hosts.setdefault(words[0], {})
            for word in words[1:]:
                name, value = word.split("=", 1)
                try:
                    value = ast.literal_eval(value)
                except (ValueError, SyntaxError):
                    pass
                variables[name] = value
    print(json.dumps(hosts), flush=True)
`

// python is a running python3 that reads inventories.
type python struct {
	in  io.Writer
	out *json.Decoder
}

func startPython(tb testing.TB) *python {
	tb.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		tb.Skip("no python3, whose parsers Ansible uses, on this machine")
	}
	c := exec.Command(program, "-c", pythonSource) //nolint:noctx // the program ends when its input is closed
	in, err := c.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		if err := c.Wait(); err != nil {
			tb.Error(err)
		}
	})
	answers := json.NewDecoder(bufio.NewReader(out))
	answers.UseNumber()
	return &python{in: in, out: answers}
}

// hosts returns the variables of the hosts of an INI inventory.
func (p *python) hosts(t *testing.T, content []byte) map[string]map[string]any {
	t.Helper()
	request, err := json.Marshal(string(content))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.in.Write(append(request, '\n')); err != nil {
		t.Fatal(err)
	}
	var out map[string]map[string]any
	if err := p.out.Decode(&out); err != nil {
		t.Fatal(err)
	}
	for _, vars := range out {
		evaluated(vars)
	}
	return out
}
