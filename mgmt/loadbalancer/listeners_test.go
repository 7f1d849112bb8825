package loadbalancer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
)

// listening is what ss of iproute2 6.1 prints.
const listening = `LISTEN 0      4096   0.0.0.0:8383  0.0.0.0:* users:(("haproxy",pid=20,fd=7),("haproxy",pid=10,fd=7))           ` + `
LISTEN 0      128          *:80          *:*    users:(("my \"web",pid=7,fd=3))
LISTEN 0      64        [::]:2049      [::]:*
LISTEN 0      4096   127.0.0.53%lo:53 0.0.0.0:* users:(("systemd-resolve",pid=5,fd=14))
LISTEN 0      4096   [fe80::1]%eth0:54 [::]:* users:(("named",pid=5,fd=14))
State Recv-Q Send-Q Local
LISTEN 0 1 x:ssh y
`

func TestListeners(t *testing.T) {
	t.Parallel()
	want := map[int][]string{8383: {"haproxy", "haproxy"}, 80: {`my \"web`}, 2049: {"the kernel"}, 53: {"systemd-resolve"}, 54: {"named"}}
	if diff := cmp.Diff(want, loadbalancer.Listeners(listening)); diff != "" {
		t.Error(diff)
	}
}

// FuzzListeners: whatever a host prints, each line names one port at most, and a program by its name.
func FuzzListeners(f *testing.F) {
	for line := range strings.Lines(listening) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := loadbalancer.Listeners(text)
		if lines := strings.Count(text, "\n") + 1; len(got) > lines {
			t.Errorf("%d ports of %d lines", len(got), lines)
		}
	})
}
