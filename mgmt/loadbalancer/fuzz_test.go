package loadbalancer_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
)

// seeds are parts of two owners, as JSON: hostile ones too.
var seeds = []string{
	`{"groups":{"masters":[{"id":"1","name":"master-10-0-0-1","address":"10.0.0.1"}],"workers":[]},"frontends":[{"name":"kubernetes","port":8383,"to":["masters"],"toward":6443,"check":"apiserver"}]}`,
	`{"groups":{"workers":[{"id":"1","name":"a:b","address":"::ffff:10.0.0.1"},{"id":"2","name":"a.b","address":"2001:db8::1"}]},"frontends":[{"name":"a-80","port":80,"to":["workers"],"toward":1,"check":"tcp"},{"name":"a","port":8080,"to":["workers","none"],"toward":1}]}`,
	`{"frontends":[{"name":"a\n    bind *:22","port":1,"to":["x"],"toward":1}]}`,
	`{"groups":{"workers":[{"id":"1","name":"a b\nfrontend x","address":"10.0.0.1"}]},"frontends":[{"name":"a","port":1,"to":["workers"],"toward":1}]}`,
	`{"groups":{"workers":[{"id":"1","name":"a","address":"fe80::1%eth0\n"}]},"frontends":[{"name":"a","port":1,"to":["workers"],"toward":1}]}`,
	`{"frontends":[{"name":"\\x0a${HOME}\"'#","port":1,"to":["x"],"toward":1}]}`,
	`{"frontends":[{"name":"a","port":1,"to":["x\n"],"toward":1}]}`,
	`{"frontends":[{"name":"a\u2028b","port":1,"to":["x"],"toward":1},{"name":"a","port":1,"to":["x"],"toward":1}]}`,
}

// configOf has the part twice, of two owners whose ports differ.
func configOf(text string) loadbalancer.Config {
	var a, b loadbalancer.Part
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal([]byte(text), &b) != nil {
		return loadbalancer.Config{}
	}
	b.Groups = nil
	for i := range b.Frontends {
		b.Frontends[i].Port += 1000
	}
	return loadbalancer.Config{Parts: map[string]loadbalancer.Part{"cluster/a": a, "cnf/b": b}, Drained: []string{"2"}, IPv6: len(text)%2 == 0}
}

// FuzzRender: what is accepted is rendered as exactly these frontends and servers, and no line begins where none should.
func FuzzRender(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := configOf(text)
		got, err := c.Render()
		if err != nil {
			return
		}
		config, err := parse(string(got))
		if err != nil {
			t.Fatalf("%v:\n%s", err, got)
		}
		binds := 1
		if c.IPv6 {
			binds = 2
		}
		frontends, backends := []parsedFrontend(nil), map[string][]string{}
		for _, owner := range []string{"cluster/a", "cnf/b"} {
			for _, f := range c.Parts[owner].Frontends {
				name := fmt.Sprintf("%s-%d", f.Name, f.Port)
				frontends = append(frontends, parsedFrontend{name: name, backend: name, port: f.Port, binds: binds})
				backends[name] = serversOf(c, f)
			}
		}
		if diff := cmp.Diff(frontends, config.frontends, cmp.AllowUnexported(parsedFrontend{})); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(backends, config.backends); diff != "" {
			t.Error(diff)
		}
		if n := strings.Count(string(got), "\n# "); n != len(frontends) {
			t.Errorf("%d comments", n)
		}
	})
}

// serversOf are those that a frontend leads to.
func serversOf(c loadbalancer.Config, f loadbalancer.Frontend) []string {
	out := []string{}
	seen := map[string]bool{}
	for _, group := range f.To {
		for _, s := range c.Parts["cluster/a"].Groups[group] {
			if !seen[s.ID] && s.ID != "2" {
				out = append(out, s.Name+" "+net.JoinHostPort(s.Address.Unmap().String(), strconv.Itoa(f.Toward)))
			}
			seen[s.ID] = true
		}
	}
	return out
}
