package loadbalancer_test

import (
	"bytes"
	"errors"
	"flag"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
)

var update = flag.Bool("update", false, "write testdata anew")

const alivePort = 8384

// whole is a configuration with something of everything.
func whole() loadbalancer.Config {
	v6 := loadbalancer.Server{ID: "id-w6", Name: "worker-2001-db8--1", Address: netip.MustParseAddr("2001:db8::1")}
	cluster := loadbalancer.Cluster(0, servers("m1", "m2", "m3"), append(servers("w1", "w10"), v6))
	both := service("shop.web.http", 30080)
	both.Frontends[0].To = []string{"workers", "masters", "workers"}
	return loadbalancer.Config{
		Parts:   map[string]loadbalancer.Part{"cnf/b": both, "cnf/a": service("shop.api.http", 30081), "cluster/c": cluster},
		Drained: []string{"id-w1"}, IPv6: true, AlivePort: alivePort,
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]loadbalancer.Config{"whole": whole(), "empty": {}} {
		got, err := c.Render()
		if err != nil {
			t.Fatal(err)
		}
		again, _ := c.Render()
		if !bytes.Equal(got, again) {
			t.Errorf("%s: not the same twice", name)
		}
		if _, err := parse(string(got)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden := "testdata/" + name + ".cfg"
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestByIdentity: a machine is found by its id, never because its name begins like another's.
func TestByIdentity(t *testing.T) {
	t.Parallel()
	text, err := whole().Render()
	if err != nil {
		t.Fatal(err)
	}
	config, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"w10 10.10.1.10:30080", "worker-2001-db8--1 [2001:db8::1]:30080", "m1 10.10.0.1:30080", "m2 10.10.0.2:30080", "m3 10.10.0.3:30080"}
	if diff := cmp.Diff(want, config.backends["shop.web.http-30080"]); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	one := func(change func(*loadbalancer.Part)) map[string]loadbalancer.Part {
		p := loadbalancer.Cluster(8383, servers("m1"), servers("w1"))
		change(&p)
		return map[string]loadbalancer.Part{"cluster/c": p}
	}
	frontend := func(change func(*loadbalancer.Frontend)) map[string]loadbalancer.Part {
		return one(func(p *loadbalancer.Part) { change(&p.Frontends[0]) })
	}
	worker := func(change func(*loadbalancer.Server)) map[string]loadbalancer.Part {
		return one(func(p *loadbalancer.Part) { change(&p.Groups["workers"][0]) })
	}
	for name, c := range map[string]struct {
		parts map[string]loadbalancer.Part
		want  []string // in the error
	}{
		"fine":               {one(func(*loadbalancer.Part) {}), nil},
		"no check":           {frontend(func(f *loadbalancer.Frontend) { f.Check = "" }), nil},
		"no servers":         {one(func(p *loadbalancer.Part) { p.Groups = nil }), nil},
		"an owner's line":    {map[string]loadbalancer.Part{"cnf/x\nfrontend evil": {}}, []string{"the owner"}},
		"an owner's path":    {map[string]loadbalancer.Part{"cnf/../x": {}, "/x": {}, "": {}}, []string{`"cnf/../x"`, `"/x"`, `""`}},
		"a frontend's line":  {frontend(func(f *loadbalancer.Frontend) { f.Name = "a\n    bind *:22" }), []string{"frontends[0]: the name"}},
		"a frontend's word":  {frontend(func(f *loadbalancer.Frontend) { f.Name = "a b" }), []string{"frontends[0]: the name"}},
		"an escape":          {frontend(func(f *loadbalancer.Frontend) { f.Name = `a\x0a` }), []string{"frontends[0]: the name"}},
		"a variable":         {frontend(func(f *loadbalancer.Frontend) { f.Name = `${HOME}` }), []string{"frontends[0]: the name"}},
		"a long name":        {frontend(func(f *loadbalancer.Frontend) { f.Name = strings.Repeat("a", 253) }), []string{"frontends[0]: the name"}},
		"port 0":             {frontend(func(f *loadbalancer.Frontend) { f.Port = 0 }), []string{"port is 0"}},
		"port 65536":         {frontend(func(f *loadbalancer.Frontend) { f.Toward = 65536 }), []string{"toward is 65536"}},
		"nowhere":            {frontend(func(f *loadbalancer.Frontend) { f.To = nil }), []string{"has no group"}},
		"a strange group":    {frontend(func(f *loadbalancer.Frontend) { f.To = []string{"a\nb"} }), []string{"not a valid name of a group"}},
		"a strange check":    {frontend(func(f *loadbalancer.Frontend) { f.Check = "ping" }), []string{`the check "ping"`}},
		"a server's line":    {worker(func(s *loadbalancer.Server) { s.Name = "a\nserver b 1.2.3.4:5" }), []string{"workers[0]: the name"}},
		"no id":              {worker(func(s *loadbalancer.Server) { s.ID = "" }), []string{"workers[0]: the id"}},
		"an id's line":       {worker(func(s *loadbalancer.Server) { s.ID = "a\nb" }), []string{"workers[0]: the id"}},
		"no address":         {worker(func(s *loadbalancer.Server) { s.Address = netip.Addr{} }), []string{"not an address of a machine"}},
		"a zone":             {worker(func(s *loadbalancer.Server) { s.Address = netip.MustParseAddr("fe80::1%x\ny") }), []string{"not an address of a machine"}},
		"everywhere":         {worker(func(s *loadbalancer.Server) { s.Address = netip.IPv4Unspecified() }), []string{"not an address of a machine"}},
		"a group's line":     {one(func(p *loadbalancer.Part) { p.Groups["a\nb"] = nil }), []string{"the name of the group"}},
		"an id twice":        {one(func(p *loadbalancer.Part) { p.Groups["workers"] = servers("w1", "w1") }), []string{"workers[1]: the id"}},
		"an id of two":       {one(func(p *loadbalancer.Part) { p.Groups["masters"][0].ID = "id-w1" }), []string{"belongs to m1 at 10.10.0.1"}},
		"a name of two":      {one(func(p *loadbalancer.Part) { p.Groups["masters"][0].Name = "w1" }), []string{"belongs to another machine"}},
		"a frontend twice":   {one(func(p *loadbalancer.Part) { p.Frontends = append(p.Frontends, p.Frontends...) }), []string{"is used twice", "port 8383"}},
		"a group of others":  {map[string]loadbalancer.Part{"cluster/c": loadbalancer.Cluster(1, nil, nil), "cluster/d": loadbalancer.Cluster(2, nil, nil)}, []string{"cluster/d: group masters: cluster/c has"}},
		"several at once":    {frontend(func(f *loadbalancer.Frontend) { f.Port, f.Name = -1, "" }), []string{"port is -1", `the name ""`}},
		"a name that widens": {worker(func(s *loadbalancer.Server) { s.Name = "w1 1.2.3.4:80 # " }), []string{"workers[0]: the name"}},
		"the alive port":     {frontend(func(f *loadbalancer.Frontend) { f.Port = alivePort }), []string{"port 8384, which cluster/c wants, is taken by GET /alive"}},
	} {
		config := loadbalancer.Config{Parts: c.parts, AlivePort: alivePort}
		err := config.Validate()
		if (err != nil) != (c.want != nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if text, err := config.Render(); (err != nil) != (c.want != nil) || err != nil && text != nil {
			t.Errorf("%s is rendered: %v", name, err)
		}
	}
	err := loadbalancer.Config{Parts: map[string]loadbalancer.Part{"cnf/a": service("x", 30080), "cnf/b": service("y", 30080)}}.Validate()
	if taken, ok := errors.AsType[*loadbalancer.PortError](err); !ok || taken.Port != 30080 || taken.Owner != "cnf/b" || taken.Taken != "cnf/a" {
		t.Error(err)
	}
}

// TestParseStored: a part that is stored in a cluster can lead only to nodes of the cluster.
func TestParseStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ configMap, text, want string }{
		"fine":      {"vnfkit-lb-a", `{"frontends":[{"name":"web","port":30080,"to":["workers"],"toward":30080}]}`, ""},
		"not ours":  {"other-a", `{}`, "does not have the name of a part"},
		"no JSON":   {"vnfkit-lb-a", `{`, "is not a part"},
		"nothing":   {"vnfkit-lb-a", ``, "is not a part"},
		"elsewhere": {"vnfkit-lb-a", `{"groups":{"db":[{"id":"1","name":"db","address":"192.0.2.1"}]}}`, "names machines"},
	} {
		owner, p, err := loadbalancer.ParseStored(c.configMap, map[string]string{"part.json": c.text})
		if c.want == "" && (err != nil || owner != "cnf/a" || len(p.Frontends) != 1) {
			t.Errorf("%s: %q, %v, %v", name, owner, p, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
