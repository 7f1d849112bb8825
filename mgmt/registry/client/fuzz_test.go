package client_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/netip"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// FuzzServer: a server that is accepted names one directory, and one registry in hosts.toml, whatever is in it.
func FuzzServer(f *testing.F) {
	for _, seed := range []string{"", "r", "r:5000", "192.168.0.10:5000", "[2001:db8::1]:5000", "[::1]", "registry.example.com", "..", "a/../b", "a:b", "a\nb", `a"b`, "'", "-a", "a-", "a..b",
		"r:0", "r:65536", "r:99999", "docker.io", "$(id)", "%2e", "R:5000", ":5000", "[", "a:", "é", "a\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, server string) {
		c := client.Connection{Type: client.HTTPS, Server: server, CertificatePath: "ca.crt"}
		if (client.Connections{c}).Validate("list", files{"ca.crt": ""}.open) == nil {
			t.Fatal("an empty CA file is accepted")
		}
		c.CertificatePath = ""
		if (client.Connections{c}).Validate("list", files{}.open) != nil {
			return
		}
		c.CertificatePath = "ca.crt"
		dir := client.ContainerdDir(server)
		if path.Clean(dir) != dir || path.Dir(dir) != "/etc/containerd/certs.d" {
			t.Errorf("the directory of %q is %q", server, dir)
		}
		out, err := client.HostsTOML(c, "")
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := toml.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		ca := dir + "/vnfkit-ca.crt"
		want := map[string]any{"server": "https://" + server, "ca": ca,
			"host": map[string]any{"https://" + server: map[string]any{"capabilities": []any{"pull", "resolve"}, "ca": ca}}}
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzHostsString: what is accepted is one line with an address and a name.
func FuzzHostsString(f *testing.F) {
	for _, seed := range []string{"", "192.168.0.20 registry.example.com", "::1 r", "fe80::1%eth0 r", "1.2.3.4 a b", "1.2.3.4", "x y", "1.2.3.4\tr", "1.2.3.4 r\n5.6.7.8 s", "1.2.3.4 #r", "1.2.3.4 r#", "1.2.3.4 -r", " ", "1.2.3.4 é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := client.HostEntry(text)
		if err != nil {
			return
		}
		if strings.TrimSpace(text) == "" {
			if e.Name != "" {
				t.Errorf("%q is %v", text, e)
			}
			return
		}
		fields := strings.Fields(text)
		addr, err := netip.ParseAddr(fields[0])
		if len(fields) != 2 || err != nil || e.IP != addr || e.Name != fields[1] || strings.ContainsAny(e.Name, "#\n\x00 ") {
			t.Errorf("%q is %v", text, e)
		}
	})
}

// FuzzMembers: a member is set, changed and removed, every other one keeps its bytes, and doing it again changes
// nothing.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{"", "{}", " {\n} ", `{"a":1}`, "{\n\t\"a\" : 1.50,\n\t\"b\":[1, 2]\n}\n", `{"key":1,"key":2}`, `{"k\u0065y":1}`, `{"a":"}{,\"","key": {"x":[]} , "b":null}`, "[]", "x", `{"a":1}{}`, "null",
		`{"a":1e9 ,"key":-0}`, `{"a":"é\ud800"}`, "{\"\xff\":1}"} {
		f.Add([]byte(seed), "key", "[1, 2]")
	}
	f.Add([]byte(`{"a":1}`), "a\"b\n<", "null")
	f.Fuzz(func(t *testing.T, doc []byte, name, value string) {
		if !json.Valid([]byte(value)) || strings.TrimSpace(value) != value || strings.ToValidUTF8(name, "") != name {
			return
		}
		kept := bytes.Clone(doc)
		out, err := client.WithMember(doc, name, []byte(value))
		if !bytes.Equal(kept, doc) {
			t.Fatal("the argument was changed")
		}
		var old map[string]json.RawMessage
		blank := strings.TrimSpace(string(doc)) == ""
		if readable := json.Unmarshal(doc, &old) == nil && old != nil || blank; readable != (err == nil) {
			t.Fatalf("%q: %v", doc, err)
		}
		if err != nil {
			return
		}
		if old == nil {
			old = map[string]json.RawMessage{}
		}
		check := func(what string, out []byte) {
			t.Helper()
			var got map[string]json.RawMessage
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%s: %q became %q: %v", what, doc, out, err)
			}
			if diff := cmp.Diff(old, got); diff != "" {
				t.Fatalf("%s: %q became %q:\n%s", what, doc, out, diff)
			}
		}
		old[name] = json.RawMessage(value)
		check("set", out)
		again, err := client.WithMember(out, name, []byte(value))
		if err != nil || !bytes.Equal(out, again) {
			t.Errorf("not idempotent: %q, then %q, %v", out, again, err)
		}
		gone, err := client.WithoutMember(out, name)
		if err != nil {
			t.Fatal(err)
		}
		delete(old, name)
		check("removed", gone)
	})
}

// FuzzDaemon: with any daemon.json, an added entry is in the list, a removed one is not, and the remaining entries keep
// their order.
func FuzzDaemon(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"insecure-registries":[]}`, `{"insecure-registries":["a","ours","a"],"x":1}`, `{"insecure-registries":null}`, `{"insecure-registries":{}}`, `{"insecure-registries":[1]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, daemon []byte) {
		read := func(doc []byte) (list []string) {
			var v map[string]json.RawMessage
			if err := json.Unmarshal(doc, &v); err == nil && v["insecure-registries"] != nil {
				_ = json.Unmarshal(v["insecure-registries"], &list)
			}
			return list
		}
		added, err := client.WithInsecure(daemon, []string{"ours"}, nil)
		if err != nil {
			return
		}
		others := slices.DeleteFunc(read(daemon), func(s string) bool { return s == "ours" })
		if list := read(added); !slices.Contains(list, "ours") || !slices.Equal(slices.DeleteFunc(list, func(s string) bool { return s == "ours" }), others) {
			t.Errorf("%q became %q", daemon, added)
		}
		removed, err := client.WithInsecure(added, nil, []string{"ours"})
		if err != nil || !slices.Equal(read(removed), others) {
			t.Errorf("%q became %q, %v", added, removed, err)
		}
	})
}

// FuzzAuths: credentials are set and removed, those of other programs stay.
func FuzzAuths(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"auths":{}}`, `{"auths":null,"x":1}`, `{"auths":{"other":{"auth":"b3RoZXI="},"ours":{"auth":"old"}},"credsStore":"x"}`, `{"auths":[]}`} {
		f.Add([]byte(seed), "user:password")
	}
	f.Fuzz(func(t *testing.T, config []byte, credentials string) {
		_, _, _ = client.AuthOf(config, "ours") // nothing makes it panic
		set, err := client.WithAuths(config, map[string]string{"ours": credentials}, nil)
		if err != nil {
			return
		}
		var got struct {
			Auths map[string]struct{ Auth []byte }
		}
		if err := json.Unmarshal(set, &got); err == nil && string(got.Auths["ours"].Auth) != credentials {
			t.Errorf("%q became %q", config, set)
		}
		if found, ok, err := client.AuthOf(set, "ours"); !ok || err != nil || found != credentials {
			t.Errorf("%q in %q, %v", found, set, err)
		}
		gone, err := client.WithAuths(set, nil, []string{"ours"})
		if err != nil || bytes.Contains(gone, []byte(`"ours":`)) && !bytes.Contains(config, []byte(`ours`)) {
			t.Errorf("%q became %q, %v", set, gone, err)
		}
	})
}

// FuzzCA: what is accepted is certificates and nothing else.
func FuzzCA(f *testing.F) {
	ca := newCA(f, true)
	for _, seed := range []string{"", ca, "text\n" + ca + ca, newCA(f, false), strings.Replace(ca, "CERTIFICATE", "EC PRIVATE KEY", 2), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := client.CACertificates(data)
		if err != nil {
			return
		}
		for rest := out; len(rest) > 0; {
			block, after := pem.Decode(rest)
			if block == nil || block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
				t.Fatalf("%q", out)
			}
			rest = after
		}
	})
}
