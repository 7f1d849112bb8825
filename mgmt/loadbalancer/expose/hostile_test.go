package expose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestHostileNames: names of services, ports and namespaces, which a taken over cluster chooses, are no directives of haproxy and
// no shell text. The owner of the frontends is the instance, whose id no request chooses.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"x\n    server pwned 192.0.2.1:1", "x\n\nlisten pwned\n    bind :1\n", `$(touch /pwned)`, "`touch /pwned`", "x\r\ntouch /pwned\r\n", `../../../../pwned`, `--config=/pwned`,
		"# pwned", `"} touch /pwned`, "\u202etouch /pwned", "\x00touch /pwned", strings.Repeat("long", 1<<14),
	} {
		t.Run(text[:min(len(text), 20)], func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.pods.set(vnflcm.NodePort{Namespace: "shop", Service: text, Port: "http", Protocol: "TCP", NodePort: 30080},
				vnflcm.NodePort{Namespace: "shop", Service: "api", Port: text, Protocol: "TCP", NodePort: 30081},
				vnflcm.NodePort{Namespace: text, Service: "web", Port: "http", Protocol: "TCP", NodePort: 30082})
			occ := l.wait(l.Instantiate(t.Context(), l.id, l.request(nil)))
			if occ.Error != nil && len(occ.Error.Detail) > 8<<10 {
				t.Errorf("the error has %d bytes", len(occ.Error.Detail))
			}
			config, err := afero.ReadFile(l.lb.FS(), "/etc/haproxy/haproxy.cfg")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(config)) {
				words := strings.Fields(line)
				if len(words) > 0 && !strings.HasPrefix(words[0], "#") && (strings.Contains(line, "pwned") || slices.Contains(words, "192.0.2.1:1")) {
					t.Errorf("haproxy.cfg has %q", line)
				}
			}
			if found, err := afero.Exists(l.lb.FS(), "/pwned"); found || err != nil {
				t.Errorf("the load balancer has /pwned, %v", err)
			}
			for _, r := range l.lb.Commands() {
				if r.Argv[0] == "touch" && slices.Contains(r.Argv, "/pwned") {
					t.Errorf("the load balancer ran %q", r.Argv)
				}
			}
		})
	}
}
