package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// needAnsible skips the test when the run is not about kubespray, or Ansible is not on this machine.
func needAnsible(t testing.TB, programs ...string) {
	t.Helper()
	if !named("kubespray") {
		t.Skip("VNFKIT_E2E does not name kubespray")
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("Debian's ansible and sshpass are needed: ", err)
		}
	}
}

// ansibleRun runs one of Ansible's programs and returns its standard output.
func ansibleRun(t testing.TB, dir string, environment []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stderr strings.Builder
	c := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // from this file
	c.Dir, c.Stderr = dir, &stderr
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCAL_TEMP="+t.TempDir(), "ANSIBLE_RETRY_FILES_ENABLED=False", "PYTHONDONTWRITEBYTECODE=1")
	c.Env = append(c.Env, environment...)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", argv, err, out, &stderr)
	}
	return string(out)
}

// hostileWords are values that inventories are usually broken by.
var hostileWords = []string{
	"12345", "0123", "True", "None", "yes", "null", "~", "1:30", "0x10", "1e3", "1.50", "#a", "a #b", "a=b c", "a: b", "'\"\\", `\n\x41`, "{{ 1 + 1 }}", "{% raw %}", "{# c #}", "{{",
	"[1, 2]", "{'a': 1}", "(1,)", " x ", "tab\tand\nline\r\n", "ä\u2028\u0085\u00a0😀\ufeff", "\x01\x7f", "!vault |", "&a *b", "$HOME `id` $(id)", "%h", "- x", "? y", "@x", "", "---", "=",
}

// hostileInventory has three control-plane nodes and four workers, and the words at every place that takes them.
func hostileInventory(generation inventory.Generation) inventory.Inventory {
	inv := inventory.Inventory{Generation: generation, GroupVars: map[string]map[string]any{
		"all":         {"from_all": "{{ no }}", "list": slices.Clone(hostileWords)},
		"k8s_cluster": {"kube_pods_subnet": "192.168.0.0/16", "evaluated": inventory.Template("{{ 6 * 7 }} of {{ inventory_hostname }}"), "hidden": vnflcm.NewSecret("http://u:{{ p }}@proxy:3128")},
		"kube_node":   {"node_labels": map[string]any{"vnfkit.io/x": "yes", "1": 1.5}},
	}}
	passwords := []string{"{{ 7 * 7 }}'\"\\ #$", "True", "0123", "[1, 2]", "{'a': 1}", " x ", "päss: %h"}
	for i := range passwords {
		role, roles := "worker", []inventory.Role{inventory.Worker}
		if i < 3 {
			role, roles = "master", []inventory.Role{inventory.ControlPlane, inventory.Etcd}
		}
		n := inventory.Node{
			Name: fmt.Sprintf("%s-10-10-0-%d", role, i+4), Address: netip.AddrFrom4([4]byte{10, 10, 0, byte(i + 4)}), IP: netip.AddrFrom4([4]byte{10, 20, 0, byte(i + 4)}),
			User: "ubuntu", Password: vnflcm.NewSecret(passwords[i]), BecomePassword: vnflcm.NewSecret(passwords[len(passwords)-1-i]), Roles: roles, Vars: map[string]any{},
		}
		for j, word := range hostileWords {
			if j%len(passwords) == i {
				n.Vars[fmt.Sprintf("word%d", j)] = word
			}
		}
		inv.Nodes = append(inv.Nodes, n)
	}
	inv.Nodes[0].User = "{{ x }}"
	inv.Nodes[3].Address, inv.Nodes[3].IP, inv.Nodes[3].Port = netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("1:2:3:4:5:6:7:8"), 2222
	inv.Nodes[4].KeyFile = "/keys/a b#c{{ d }}"
	inv.Nodes[5].Groups = []string{"no-floating"}
	inv.Nodes[6].Vars["mixed"] = map[string]any{"a b": []any{1, -7, 1.5, 1e30, true, nil, map[string]any{}, []any{}}, "big": uint64(1 << 63)}
	inv.Nodes[6].Vars["secret"] = vnflcm.NewSecret("{{ s }}")
	return inv
}

// TestKubesprayInventory: what was meant is what Ansible reads, in both forms and generations, wherever the secrets are.
func TestKubesprayInventory(t *testing.T) {
	needAnsible(t, "ansible-inventory", "ansible")
	for _, form := range []string{"ini", "yaml"} {
		for _, test := range []struct {
			generation inventory.Generation
			secrets    string
			options    inventory.Options
		}{
			{inventory.Current, "file", inventory.Options{}},
			{inventory.Legacy, "file", inventory.Options{}},
			{inventory.Current, "inline", inventory.Options{Secrets: inventory.SecretsInline}},
			{inventory.Legacy, "vault", inventory.Options{VaultPassword: vnflcm.NewSecret("open '{{ me }}'")}},
		} {
			t.Run(fmt.Sprint(form, "/", test.generation, "/", test.secrets), func(t *testing.T) {
				inv := hostileInventory(test.generation)
				i := writeInventory(t, form, inv, test.options)
				checkGroups(t, i.groups(t), inv)
				i.checkVariables(t, inv)
			})
		}
	}
}

// writtenInventory is an inventory on this machine's disk.
type writtenInventory struct {
	path  string
	vault []string // arguments that open what is encrypted
}

func writeInventory(t testing.TB, form string, inv inventory.Inventory, o inventory.Options) writtenInventory {
	t.Helper()
	var g inventory.Generator = inventory.INI{Options: o}
	if form == "yaml" {
		g = inventory.YAML{Options: o}
	}
	files, err := g.Generate(inv)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Content, f.Mode); err != nil {
			t.Fatal(err)
		}
	}
	out := writtenInventory{path: filepath.Join(dir, files[0].Path)}
	if !o.VaultPassword.IsZero() {
		password := filepath.Join(t.TempDir(), "vault")
		if err := os.WriteFile(password, []byte(o.VaultPassword.Reveal()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out.vault = []string{"--vault-password-file", password}
	}
	return out
}

// groups asks ansible-inventory for the hosts of each group, those of groups below it too.
func (i writtenInventory) groups(t testing.TB) map[string][]string {
	t.Helper()
	var listed map[string]struct{ Hosts, Children []string }
	out := ansibleRun(t, "", nil, append([]string{"ansible-inventory", "-i", i.path, "--list", "--export"}, i.vault...)...)
	if err := json.Unmarshal([]byte(out), &listed); err != nil {
		t.Fatal(err)
	}
	delete(listed, "_meta")
	var collect func(name string) []string
	collect = func(name string) []string {
		hosts := listed[name].Hosts
		for _, child := range listed[name].Children {
			hosts = append(hosts, collect(child)...)
		}
		slices.Sort(hosts)
		return slices.Compact(hosts)
	}
	groups := map[string][]string{}
	for name := range listed {
		groups[name] = collect(name)
		for _, child := range listed[name].Children {
			groups[child] = collect(child)
		}
	}
	delete(groups, "ungrouped")
	return groups
}

// meantGroups are the hosts of the groups, by the names of a generation.
func meantGroups(inv inventory.Inventory, generation inventory.Generation) map[string][]string {
	groups := map[string][]string{}
	for _, n := range inv.Nodes {
		groups["all"] = append(groups["all"], n.Name)
		in := slices.Clone(n.Groups)
		for role, group := range map[inventory.Role]string{inventory.ControlPlane: "kube_control_plane", inventory.Etcd: "etcd", inventory.Worker: "kube_node"} {
			if slices.Contains(n.Roles, role) {
				in = append(in, group)
			}
		}
		in = append(in, "k8s_cluster")
		for _, group := range in {
			groups[group] = append(groups[group], n.Name)
		}
	}
	groups["calico_rr"] = nil
	if generation == inventory.Legacy {
		groups["kube-master"] = groups["kube_control_plane"]
		for _, name := range []string{"kube_node", "calico_rr", "k8s_cluster"} {
			groups[strings.ReplaceAll(name, "_", "-")] = groups[name]
		}
	}
	for _, hosts := range groups {
		slices.Sort(hosts)
	}
	return groups
}

func checkGroups(t testing.TB, got map[string][]string, inv inventory.Inventory) {
	t.Helper()
	if diff := cmp.Diff(meantGroups(inv, inv.Generation), got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// checkVariables has Ansible evaluate all variables of all hosts, as its tasks see them.
func (i writtenInventory) checkVariables(t testing.TB, inv inventory.Inventory) {
	t.Helper()
	results := t.TempDir()
	argv := append([]string{"ansible", "all", "-i", i.path, "-c", "local", "-m", "ansible.builtin.debug", "-a", "var=hostvars[inventory_hostname]", "-t", results}, i.vault...)
	ansibleRun(t, "", nil, argv...)
	etcd := 0
	for _, n := range inv.Nodes {
		want := map[string]any{"from_all": "{{ no }}", "list": hostileWords, "ansible_host": n.Address.String(), "ip": n.IP.String(), "ansible_user": n.User}
		want["kube_pods_subnet"], want["evaluated"], want["hidden"] = "192.168.0.0/16", "42 of "+n.Name, "http://u:{{ p }}@proxy:3128"
		want["ansible_password"], want["ansible_become_password"] = n.Password.Reveal(), n.BecomePassword.Reveal()
		if slices.Contains(n.Roles, inventory.Etcd) {
			etcd++
			want["etcd_member_name"] = fmt.Sprint("etcd", etcd)
		} else {
			want["node_labels"] = inv.GroupVars["kube_node"]["node_labels"]
		}
		if n.Port != 0 {
			want["ansible_port"] = n.Port
		}
		if n.KeyFile != "" {
			want["ansible_ssh_private_key_file"] = n.KeyFile
		}
		for name, value := range n.Vars {
			if secret, isSecret := value.(vnflcm.Secret); isSecret {
				value = secret.Reveal()
			}
			want[name] = value
		}
		content, err := os.ReadFile(filepath.Join(results, n.Name)) //nolint:gosec // our own directory
		if err != nil {
			t.Fatal(err)
		}
		var result map[string]map[string]any
		d := json.NewDecoder(bytes.NewReader(content))
		d.UseNumber()
		_ = d.Decode(&result) // it has other values than maps beside the one that counts
		got := map[string]any{}
		for name := range want {
			got[name] = result["hostvars[inventory_hostname]"][name]
		}
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
			t.Errorf("%s: %s", n.Name, diff)
		}
	}
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	out, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestKubesprayPasswords: the user and the password that reach ssh are those that were meant. A stand-in for ssh asks at the terminal.
func TestKubesprayPasswords(t *testing.T) {
	needAnsible(t, "ansible", "sshpass", "bash")
	for _, form := range []string{"ini", "yaml"} {
		inv := hostileInventory(inventory.Current)
		i := writeInventory(t, form, inv, inventory.Options{})
		dir := t.TempDir()
		script := "#!/bin/bash\nprintf '%s\\n' \"$@\" >\"$VNFKIT_OUT/argv.$$\"\nprintf 'password: ' >/dev/tty\nIFS= read -r -s answer </dev/tty\nprintf '%s' \"$answer\" >\"$VNFKIT_OUT/password.$$\"\n"
		program := filepath.Join(dir, "ssh")
		if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
		ansibleRun(t, "", []string{"VNFKIT_OUT=" + dir, "ANSIBLE_SSH_EXECUTABLE=" + program, "ANSIBLE_SSH_ARGS="}, "ansible", "all", "-i", i.path, "-m", "ansible.builtin.raw", "-a", "true")
		got := map[string]string{}
		calls, err := filepath.Glob(filepath.Join(dir, "argv.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			argv, _ := os.ReadFile(call)                                               //nolint:gosec // our own directory
			password, _ := os.ReadFile(strings.Replace(call, "argv.", "password.", 1)) //nolint:gosec // as above
			for _, n := range inv.Nodes {
				if slices.Contains(strings.Split(string(argv), "\n"), n.Address.String()) && strings.Contains(string(argv), fmt.Sprintf("User=%q\n", n.User)) {
					got[n.Name] = string(password)
				}
			}
		}
		for _, n := range inv.Nodes {
			if got[n.Name] != n.Password.Reveal() {
				t.Errorf("%s: %s: ssh was told %q, not %q", form, n.Name, got[n.Name], n.Password.Reveal())
			}
		}
	}
}

// TestKubesprayVault: ansible-vault opens the vaults that Encrypt returns.
func TestKubesprayVault(t *testing.T) {
	needAnsible(t, "ansible-vault")
	dir := t.TempDir()
	password := vnflcm.NewSecret("pä'\"$ {{ x }}")
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		writeText(t, path, content)
		return path
	}
	key := write("password", password.Reveal()+"\n")
	for i, content := range []string{"x", "a: b\n", strings.Repeat("ä", 8), strings.Repeat("0123456789", 5000)} {
		vault, err := inventory.Encrypt([]byte(content), password)
		if err != nil {
			t.Fatal(err)
		}
		if got := ansibleRun(t, dir, nil, "ansible-vault", "decrypt", "--vault-password-file", key, "--output", "-", write(fmt.Sprint("ours", i), string(vault))); got != content {
			t.Errorf("ansible-vault reads %q from %q", got, content)
		}
	}
}

// TestKubesprayLargeInventory: Ansible reads 5,000 nodes.
func TestKubesprayLargeInventory(t *testing.T) {
	needAnsible(t, "ansible-inventory")
	const nodes = 5000
	var inv inventory.Inventory
	for i := range nodes {
		a := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).Next() //nolint:gosec // bytes of the number
		roles := []inventory.Role{inventory.Worker}
		if i < 3 {
			roles = []inventory.Role{inventory.ControlPlane, inventory.Etcd}
		}
		inv.Nodes = append(inv.Nodes, inventory.Node{
			Name: "node-" + strings.ReplaceAll(a.String(), ".", "-"), Address: a, IP: a, User: "ubuntu", Password: vnflcm.NewSecret(fmt.Sprint("password", i)), Roles: roles,
		})
	}
	for _, form := range []string{"ini", "yaml"} {
		start := time.Now()
		i := writeInventory(t, form, inv, inventory.Options{})
		generated := time.Since(start)
		groups := i.groups(t)
		t.Logf("%s: %d nodes written in %v, read by ansible-inventory in %v", form, nodes, generated.Round(time.Millisecond), (time.Since(start) - generated).Round(time.Millisecond))
		checkGroups(t, groups, inv)
	}
}

// needTree skips the test when no kubespray is given.
func needTree(t testing.TB) string {
	t.Helper()
	needAnsible(t, "ansible-playbook", "ansible-inventory")
	tree := os.Getenv("VNFKIT_KUBESPRAY")
	if tree == "" {
		t.Skip("VNFKIT_KUBESPRAY names no directory of kubespray; v2.23 suits Debian's Ansible")
	}
	requireCollections(t)
	return tree
}

// requireCollections fails the test unless Ansible has the collections that kubespray's playbooks use.
func requireCollections(t testing.TB) {
	t.Helper()
	// Ansible 2.14 warns of a module that is missing, and ends with 0.
	const module = "community.general.modprobe"
	if !strings.Contains(ansibleRun(t, "", nil, "ansible-doc", "-t", "module", "--json", module), module) {
		t.Fatal("ansible-core has no collections, which kubespray's playbooks need: .ci/install internal/e2e/kubespray/packages.txt")
	}
}

// TestKubesprayTree: kubespray's own playbooks take the inventories, and pick exactly the hosts that are meant.
func TestKubesprayTree(t *testing.T) {
	tree := needTree(t)
	const joining, leaving = "worker-10-10-0-10", "worker-10-10-0-9"
	for form, generation := range map[string]inventory.Generation{"yaml": inventory.Current, "ini": inventory.Legacy} {
		inv := hostileInventory(generation)
		i := writeInventory(t, form, inv, inventory.Options{})
		groups := meantGroups(inv, generation)
		for _, run := range []struct {
			playbook string
			limit    string
			args     []string
		}{
			{playbook: "cluster.yml"},
			{playbook: "scale.yml", limit: joining, args: []string{"--limit", joining}},
			{playbook: "remove-node.yml", args: []string{"-e", "node=" + leaving}},
		} {
			t.Run(form+"/"+run.playbook, func(t *testing.T) {
				base := append([]string{"ansible-playbook", "-i", i.path, "--become", "--become-user=root"}, run.args...)
				ansibleRun(t, tree, nil, append(base, "--syntax-check", run.playbook)...)
				plays := listedPlays(ansibleRun(t, tree, nil, append(base, "--list-hosts", run.playbook)...))
				touched := map[string]bool{}
				for _, p := range plays {
					want := pick(p.pattern, groups)
					if run.limit != "" {
						want = slices.DeleteFunc(want, func(host string) bool { return host != run.limit && host != "localhost" })
					}
					if diff := cmp.Diff(want, p.hosts, cmpopts.EquateEmpty()); diff != "" && !slices.Contains(want, "localhost") {
						t.Errorf("%q: %s", p.pattern, diff)
					}
					for _, host := range p.hosts {
						touched[host] = true
					}
				}
				t.Logf("%d plays, hosts %v", len(plays), slices.Sorted(maps.Keys(touched)))
				if len(plays) < 3 || len(touched) == 0 {
					t.Error("the listing says nothing")
				}
			})
		}
	}
}

type listedPlay struct {
	pattern string
	hosts   []string
}

var listedPattern = regexp.MustCompile(`^    pattern: \[(.*)\]$`)

// listedPlays reads what --list-hosts prints.
func listedPlays(text string) []listedPlay {
	var out []listedPlay
	for line := range strings.SplitSeq(text, "\n") {
		if m := listedPattern.FindStringSubmatch(line); m != nil {
			out = append(out, listedPlay{pattern: strings.ReplaceAll(strings.ReplaceAll(m[1], "'", ""), ", ", ":")})
		} else if host, isHost := strings.CutPrefix(line, "      "); isHost && len(out) > 0 {
			p := &out[len(out)-1]
			p.hosts = append(p.hosts, strings.TrimSpace(host))
		}
	}
	for _, p := range out {
		slices.Sort(p.hosts)
	}
	return out
}

var indexPattern = regexp.MustCompile(`^(.*)\[(\d+)\]$`)

// pick evaluates a pattern of hosts: unions, !exclusions, &intersections, an index.
func pick(pattern string, groups map[string][]string) []string {
	picked := map[string]bool{}
	for part := range strings.SplitSeq(pattern, ":") {
		name := strings.TrimLeft(part, "!&")
		m := indexPattern.FindStringSubmatch(name)
		if m != nil {
			name = m[1]
		}
		hosts, isGroup := groups[name]
		if !isGroup && (slices.Contains(groups["all"], name) || name == "localhost") {
			hosts = []string{name}
		}
		if m != nil {
			if i, _ := strconv.Atoi(m[2]); i < len(hosts) {
				hosts = hosts[i : i+1]
			}
		}
		for _, host := range hosts {
			switch part[0] {
			case '!':
				delete(picked, host)
			case '&':
			default:
				picked[host] = true
			}
		}
		if part[0] == '&' {
			maps.DeleteFunc(picked, func(host string, _ bool) bool { return !slices.Contains(hosts, host) })
		}
	}
	return slices.Sorted(maps.Keys(picked))
}

// TestKubesprayLegacyNames: what kubespray does with legacy names while it runs leaves the groups of both names with the same hosts,
// and our variables still win over those of a sample directory.
func TestKubesprayLegacyNames(t *testing.T) {
	tree := needTree(t)
	play := "- import_playbook: " + filepath.Join(tree, "playbooks/legacy_groups.yml") + "\n"
	if _, err := os.Stat(filepath.Join(tree, "playbooks/legacy_groups.yml")); err != nil {
		play = "- {hosts: all, gather_facts: false, roles: [dynamic_groups]}\n"
	}
	play += `- {hosts: all, gather_facts: false, tasks: [{ansible.builtin.debug: {msg: {groups: "{{ group_names }}", subnet: "{{ kube_pods_subnet }}"}}}]}` + "\n"
	for _, form := range []string{"ini", "yaml"} {
		t.Run(form, func(t *testing.T) {
			inv := hostileInventory(inventory.Legacy)
			i := writeInventory(t, form, inv, inventory.Options{})
			checkGroups(t, i.groups(t), inv)
			writeText(t, filepath.Join(filepath.Dir(i.path), "group_vars/k8s_cluster.yml"), "kube_pods_subnet: 10.233.64.0/18\n")
			playbook, results := filepath.Join(t.TempDir(), "play.yml"), t.TempDir()
			writeText(t, playbook, play)
			ansibleRun(t, tree, []string{"ANSIBLE_CALLBACKS_ENABLED=ansible.builtin.tree", "ANSIBLE_CALLBACK_TREE_DIR=" + results, "ANSIBLE_ROLES_PATH=" + filepath.Join(tree, "roles")},
				"ansible-playbook", "-i", i.path, "-c", "local", playbook)
			got := map[string][]string{}
			for _, n := range inv.Nodes {
				content, err := os.ReadFile(filepath.Join(results, n.Name)) //nolint:gosec // our own directory
				if err != nil {
					t.Fatal(err)
				}
				var result struct {
					Msg struct {
						Groups []string
						Subnet string
					}
				}
				if err := json.Unmarshal(content, &result); err != nil {
					t.Fatal(err)
				}
				if result.Msg.Subnet != "192.168.0.0/16" {
					t.Errorf("%s: kube_pods_subnet is %q", n.Name, result.Msg.Subnet)
				}
				for _, group := range append(result.Msg.Groups, "all") {
					got[group] = append(got[group], n.Name)
				}
			}
			for name, want := range meantGroups(inv, inventory.Current) {
				slices.Sort(got[name])
				if diff := cmp.Diff(want, got[name], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

func writeText(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
