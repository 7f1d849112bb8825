package inventory_test

import (
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMergeSecrets: merged passwords are where the options say, and nowhere else; what is read back is what was meant.
func TestMergeSecrets(t *testing.T) {
	const canary, template = "canary-12", "{{ canary-34 }}"
	inv := ours()
	inv.Nodes[0].Password, inv.Nodes[1].Password = vnflcm.NewSecret(canary), vnflcm.NewSecret(template)
	for _, o := range []inventory.Options{{}, {VaultPassword: vnflcm.NewSecret("open me")}, {Secrets: inventory.SecretsInline}} {
		for name, f := range forms(o) {
			t.Run(fmt.Sprint(name, o), func(t *testing.T) {
				files, err := f.Merge([]byte(foreign[name]), inv, nil)
				if err != nil {
					t.Fatal(err)
				}
				inline := o.Secrets == inventory.SecretsInline
				for i, file := range files {
					has := strings.Contains(string(file.Content), "canary")
					if want := o.VaultPassword.IsZero() && (i == 0) == inline || inline && name == "ini"; has != want {
						t.Errorf("%s has a password: %t", file.Path, has)
					}
					if secret := has || i > 0; secret != (file.Mode == fs.FileMode(0o600)) {
						t.Errorf("%s has mode %o", file.Path, file.Mode)
					}
				}
				sameNodes(t, f, files, inv)
				again, err := f.Merge(files[0].Content, inv, nil)
				if err != nil || text(again) != text(files) {
					t.Errorf("not idempotent: %v\n%s", err, cmp.Diff(text(files), text(again)))
				}
			})
		}
	}
}

// foreign inventories have one host of others.
var foreign = map[string]string{"ini": "[all]\njump ansible_host=192.0.2.1 # theirs\n", "yaml": "all:\n  hosts:\n    jump: {ansible_host: 192.0.2.1} # theirs\n"}

// sameNodes reads what a merge has made and compares: our nodes as they are meant, and those of others.
func sameNodes(t *testing.T, f form, files []inventory.File, inv inventory.Inventory) {
	t.Helper()
	got, err := f.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]inventory.Node{}
	for _, n := range got.Nodes {
		byName[n.Name] = n
	}
	for _, want := range inv.Nodes {
		have := byName[want.Name]
		have.EtcdMember = want.EtcdMember
		if diff := cmp.Diff(want, have, cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
	}
	if a := byName["jump"].Address; a != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("the host of others has address %v", a)
	}
}

// TestParseVault: values that are encrypted on their own, and whole files.
func TestParseVault(t *testing.T) {
	password := vnflcm.NewSecret("open me")
	vault, err := inventory.Encrypt([]byte("hidden"), password)
	if err != nil {
		t.Fatal(err)
	}
	block := "!vault |" + strings.ReplaceAll("\n"+strings.TrimSpace(string(vault)), "\n", "\n        ") + "\n"
	whole, err := inventory.Encrypt([]byte("c: text\n"), password)
	if err != nil {
		t.Fatal(err)
	}
	files := []inventory.File{
		{Path: "hosts.yaml", Content: []byte("all:\n  hosts:\n    a:\n      ansible_password: " + block + "      b: " + block + "  vars:\n    v: " + strings.ReplaceAll(block, "\n    ", "\n  "))},
		{Path: "group_vars/etcd.yml", Content: []byte("e: " + block)}, {Path: "group_vars/etcd/x.yml", Content: whole},
	}
	inv, err := inventory.YAML{Options: inventory.Options{VaultPassword: password}}.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	hidden := vnflcm.NewSecret("hidden")
	want := inventory.Inventory{
		Generation: inventory.Current, Nodes: []inventory.Node{{Name: "a", Password: hidden, Vars: map[string]any{"b": hidden}}},
		GroupVars: map[string]map[string]any{"all": {"v": hidden}, "etcd": {"e": hidden, "c": "text"}},
	}
	if diff := cmp.Diff(want, inv, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
	for i := range files {
		some := []inventory.File{files[0], files[i]}
		if i > 0 {
			some[0] = inventory.File{Content: []byte("all:\n")}
		}
		if _, err := (inventory.YAML{}).Parse(some); err == nil || !strings.Contains(err.Error(), "no vault password is given") {
			t.Errorf("%s without a password: %v", files[i].Path, err)
		}
		if _, err := (inventory.YAML{Options: inventory.Options{VaultPassword: vnflcm.NewSecret("x")}}).Parse(some); err == nil {
			t.Errorf("%s is opened by any password", files[i].Path)
		}
	}
}

// TestParseFields: a variable that its field cannot say stays a variable.
func TestParseFields(t *testing.T) {
	for line, want := range map[string]inventory.Node{
		"ansible_host=10.0.0.1 ansible_port=22":             {Address: netip.MustParseAddr("10.0.0.1"), Port: 22},
		"ansible_host=::ffff:10.0.0.1":                      {Vars: map[string]any{"ansible_host": "::ffff:10.0.0.1"}},
		"ip=2001:DB8::1":                                    {Vars: map[string]any{"ip": "2001:DB8::1"}},
		"ansible_host=name.example ansible_port=70000":      {Vars: map[string]any{"ansible_host": "name.example", "ansible_port": 70000}},
		"ansible_user='\" \"'":                              {Vars: map[string]any{"ansible_user": " "}},
		"ansible_user=12":                                   {Vars: map[string]any{"ansible_user": 12}},
		"ansible_ssh_pass=a ansible_become_pass=b":          {Password: vnflcm.NewSecret("a"), BecomePassword: vnflcm.NewSecret("b")},
		"ansible_password=12":                               {Password: vnflcm.NewSecret("12")},
		`ansible_password='"{{ x }}"'`:                      {Vars: map[string]any{"ansible_password": inventory.Template("{{ x }}")}},
		`ansible_password='{{ vnfkit_secrets["a"]["b"] }}'`: {Vars: map[string]any{"ansible_password": inventory.Template(`{{ vnfkit_secrets["a"]["b"] }}`)}},
	} {
		inv, err := inventory.INI{}.Parse([]inventory.File{{Content: []byte("a " + line + "\n")}})
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		want.Name = "a"
		if diff := cmp.Diff([]inventory.Node{want}, inv.Nodes, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}
