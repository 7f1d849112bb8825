package kubeadm_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestScriptFlood: of a script that prints much, the error has the end.
func TestScriptFlood(t *testing.T) {
	t.Parallel()
	var printed atomic.Int64
	flood := func(ctx context.Context, p *sshtest.Process) int {
		block := []byte(strings.Repeat("flooding\n", 4<<10))
		for ctx.Err() == nil && printed.Add(int64(len(block))) < 16<<20 {
			_, err1 := p.Stdout.Write(block)
			_, err2 := p.Stderr.Write(block)
			if err1 != nil || err2 != nil {
				break
			}
		}
		return 0
	}
	l := openLab(t, setup{
		sandbox: sandbox.Config{Commands: map[string]sshtest.Command{"flood": flood}},
		pkg: packageWith(t, func(script string) string {
			return strings.Replace(script, "\n", "\nflood\necho the end is near >&2\nexit 3\n", 1)
		}),
	})
	_, opID, err := l.Begin("instantiate_script.json")
	err = l.Fails(opID, err)
	if n := len(err.Error()); n > 16<<10 || !strings.Contains(err.Error(), "the end is near") {
		t.Errorf("%.300v, %d bytes", err, n)
	}
	if n := printed.Load(); n < 16<<20 {
		t.Errorf("the script could print %d bytes only", n)
	}
	for _, e := range l.Events() {
		if len(e.Message) > 16<<10 {
			t.Errorf("an event of %s has %d bytes", e.Name, len(e.Message))
		}
	}
	if n := len(l.Stored()); n > 256<<10 {
		t.Errorf("the store has %d bytes", n)
	}
}
