package ansible_test

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
)

// TestReadLinear checks that ten times the hosts, each with a separate password, take about ten times as long. It measures
// CPU time, because other processes may run on the machine.
func TestReadLinear(t *testing.T) {
	for _, callback := range []string{textCallback, linesCallback} {
		few, many := readTime(t, callback, 500), readTime(t, callback, 5000)
		t.Logf("%s: 500 hosts %v, 5,000 hosts %v", callback, few, many)
		if many > 40*few {
			t.Errorf("%s: 500 hosts take %v, 5,000 hosts %v", callback, few, many)
		}
	}
}

func readTime(t *testing.T, callback string, hosts int) time.Duration {
	t.Helper()
	text := big(callback, hosts, 6)
	var secrets []string
	for i := range hosts {
		secrets = append(secrets, fmt.Sprintf("%c%c-password-%d", '!'+i%89, '!'+i/89%89, i))
	}
	best := time.Hour
	for range 2 {
		begun, events := processorTime(t), 0
		ansible.Read(text, 64<<10, secrets, &bytes.Buffer{}, func(ansible.Event) { events++ })
		best = min(best, processorTime(t)-begun)
		if want := 1 + 6*(hosts+1); events != want {
			t.Errorf("%d events, want %d", events, want)
		}
	}
	return best
}

// processorTime adds user and system time: only the sum is measured, the kernel estimates by samples how it is divided.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
