package inventory_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// FuzzGenerateParse: what can be written is read back as it was, in both forms and at every place of the secrets.
func FuzzGenerateParse(f *testing.F) {
	f.Add("worker-10-10-0-7", "ubuntu", "secret", "/keys/a", "text", true)
	f.Add("a", "{{ x }}", "{{ 7 * 7 }}#'\"\\", "/a b", "[1, '{{ x }}']", false)
	f.Add("1.5", "12", "True", "~/.ssh/id", "\u2028\u0085\x00\r\n😀\ufeff", true)
	f.Add("x", "None", "'", "#", "yes", false)
	f.Add("x", "=", "0x10", "1_000", "1:30", false)
	f.Fuzz(func(t *testing.T, name, user, password, key, value string, legacy bool) {
		inv := inventory.Inventory{Generation: inventory.Current, Nodes: []inventory.Node{{
			Name: name, Address: netip.MustParseAddr("10.0.0.1"), User: user, KeyFile: key, Roles: []inventory.Role{inventory.ControlPlane, inventory.Etcd}, EtcdMember: "e",
			Vars: map[string]any{"text": value, "list": []any{value, map[string]any{"k": value}}, "secret": vnflcm.NewSecret(value)},
		}}, GroupVars: map[string]map[string]any{"kube_node": {"text": value, "secret": vnflcm.NewSecret(value)}}}
		if strings.TrimSpace(user) == "" || strings.TrimSpace(key) == "" {
			return // an empty field is one that is not there
		}
		if legacy {
			inv.Generation = inventory.Legacy
		}
		if password != "" {
			inv.Nodes[0].Password, inv.Nodes[0].BecomePassword = vnflcm.NewSecret(password), vnflcm.NewSecret(password)
		}
		for _, o := range []inventory.Options{{}, {Secrets: inventory.SecretsInline}} {
			for form, g := range forms(o) {
				files, err := g.Generate(inv)
				if err != nil {
					continue
				}
				got, err := g.Parse(files)
				if err != nil {
					t.Fatalf("%s: %v\n%s", form, err, text(files))
				}
				if diff := cmp.Diff(inv, got, cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty(), secretsInline); diff != "" {
					t.Fatalf("%s: %s\n%s", form, diff, text(files))
				}
			}
		}
	})
}

// FuzzParse: whatever is read gives an Inventory or an error, and what is merged into it either leaves foreign hosts alone or is
// refused.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"[all]\nnode[1:3] a=1 b='[1, \"x\"]'\n[x:children]\nall\n[all:vars]\na = {'b': (1,)}\n", "a:22 b=\"\\\n[", "x[0:99999999999]\n", "[a:children]\na\n",
		"a[1:9][1:9][1:9][1:9][1:9][1:9][1:9]\n", "[x]\n'a b' c=1\n\"\"", "\xff\n", "#\n;\n[a] # b\n[::1]:22 x='\\x41\\N{dash}\\101'\n", "a b=((((((((1))))))))",
		"all: {hosts: {a: {b: !unsafe '{{ x }}', c: !vault abc, d: 1:30}}}", "a: &a {children: {b: *a}}", "all: {hosts: a, children: b, vars: [1]}", "? [a]\n: b\n", "---\n...\n---\n", "all: {hosts: {<<: {a: }}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for form, g := range forms(inventory.Options{VaultPassword: vnflcm.NewSecret("x")}) {
			for _, path := range []string{"hosts", "group_vars/all.yml"} {
				_, _ = g.Parse([]inventory.File{{Path: "hosts", Content: content}, {Path: path, Content: content}})
			}
			files, err := g.Merge(content, ours(), former)
			if err != nil {
				continue
			}
			again, err := g.Merge(files[0].Content, ours(), former)
			if err != nil || string(again[0].Content) != string(files[0].Content) {
				t.Errorf("%s: %q, merged again: %v\n%q\n%q", form, content, err, files[0].Content, again[0].Content)
			}
		}
	})
}

// FuzzMerge: of what a merge takes, the text of others stays, and our nodes are read back as they are meant; merged again nothing
// changes, and once our nodes are gone so is all that names them.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{
		"# a\n[all]\nw1 x=1 # b\n[kube_node]\nw1\nother\t y='z'\n; c\n[etcd:children]\nkube_control_plane\n[gpu]\nw[2:3]x\n", "m1\r\nold a=1\r\n[x:vars]\r\ny = z # d\r\n",
		"[kube-node]\nold:22\nw1:22 a=1\n[k8s-cluster:children]\nkube-node\n", "a\u2028b\n[etcd]\nold # e\n",
		"# a\nall:\n  hosts: {w1: {x: 1}, other: {y: [1, ~, {z: }]}} # b\n  children: {kube_node: {hosts: w1}, g: {vars: {a: !unsafe '{{ b }}'}}}\n", "x:\n  hosts:\n    # c\n    old:\n    # d\n    w1: {}\n",
		"all: {vars: {a: 010, b: 1:30, c: y, d: 0x1F, e: 1e3, f: '', g: ~, h: |\n  i\n}}\n", "all: &a\n  hosts: h\nb:\n  vars: {c: 2001-01-01}\n",
	} {
		f.Add([]byte(seed), "secret", "{{ x }}", true)
		f.Add([]byte(seed), "'\"#\\", "a b", false)
	}
	f.Fuzz(func(t *testing.T, existing []byte, password, value string, inline bool) {
		inv := ours()
		inv.Nodes[0].Password, inv.Nodes[1].Vars = vnflcm.NewSecret(password), map[string]any{"ours": value}
		o := inventory.Options{}
		if inline {
			o.Secrets = inventory.SecretsInline
		}
		for form, g := range forms(o) {
			files, err := g.Merge(existing, inv, former)
			if err != nil {
				continue
			}
			checkMerge(t, form, g, existing, inv, files)
		}
	})
}

func checkMerge(t *testing.T, name string, g form, existing []byte, inv inventory.Inventory, files []inventory.File) {
	t.Helper()
	merged := files[0].Content
	before, err := g.Parse([]inventory.File{{Content: existing}})
	if err != nil {
		t.Fatalf("%s: %v\n%q", name, err, existing)
	}
	after, err := g.Parse(files)
	if err != nil {
		t.Fatalf("%s: %v\n%q\n%q", name, err, existing, merged)
	}
	have := map[string]inventory.Node{}
	for _, n := range after.Nodes {
		have[n.Name] = n
	}
	for _, n := range before.Nodes {
		if now := have[n.Name]; !slices.Contains(former, n.Name) && n.Name != "w2" && (!cmp.Equal(n.Vars, now.Vars) || n.Address != now.Address || n.Password.Reveal() != now.Password.Reveal()) {
			t.Errorf("%s: %s of others has changed\n%q\n%q", name, n.Name, existing, merged)
		}
	}
	for _, n := range inv.Nodes {
		now := have[n.Name]
		if now.Address != n.Address || now.User != n.User || now.Password.Reveal() != n.Password.Reveal() || now.Port != 0 || !slices.Equal(now.Roles, n.Roles) || !cmp.Equal(n.Vars["ours"], now.Vars["ours"]) {
			t.Errorf("%s: %s is %+v\n%q\n%q", name, n.Name, now, existing, merged)
		}
	}
	if name == "ini" {
		foreignLines(t, string(existing), string(merged))
	}
	if again, err := g.Merge(merged, inv, former); err != nil || text(again) != text(files) {
		t.Errorf("%s: merged again: %v\n%q\n%q", name, err, existing, merged)
	}
	gone, err := g.Merge(merged, inventory.Inventory{}, []string{"m1", "w1", "w2"})
	if err == nil && strings.Contains(text(gone), "10.0.0.1") && !strings.Contains(string(existing), "10.0.0.1") {
		t.Errorf("%s: not gone\n%q\n%s", name, merged, text(gone))
	}
}

// foreignLines: lines that name none of our hosts are there byte for byte, in their order.
func foreignLines(t *testing.T, before, after string) {
	t.Helper()
	if strings.TrimSpace(before) == "" {
		return // nobody has written anything
	}
	rest := after
	for line := range strings.Lines(before) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsAny(line, "\r\v\f\x1c\x1d\x1e\x1f\u0085\u2028\u2029") || slices.ContainsFunc(append(former, "w2"), func(name string) bool {
			return strings.Contains(strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(line), name)
		}) {
			continue
		}
		_, behind, found := strings.Cut(rest, line)
		if !found {
			t.Errorf("the line %q is gone\n%q\n%q", line, before, after)
			return
		}
		rest = behind
	}
}

// FuzzDecrypt: no vault makes a panic, and what Encrypt makes is opened.
func FuzzDecrypt(f *testing.F) {
	vault, err := inventory.Encrypt([]byte("a: b\n"), vnflcm.NewSecret("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(vault)
	f.Add([]byte("$ANSIBLE_VAULT;1.1;AES256\n30"))
	f.Fuzz(func(t *testing.T, content []byte) {
		const iterations = 2 // Vault's 10,000 would take nearly all of the time
		password := vnflcm.NewSecret("x")
		_, _ = inventory.Decrypt(content, password)
		vault, err := inventory.EncryptIterated(content, password, iterations)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := inventory.DecryptIterated(vault, password, iterations); err != nil || string(got) != string(content) {
			t.Errorf("%v: %q", err, got)
		}
	})
}
