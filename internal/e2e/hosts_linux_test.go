package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestHostsAreShut: whatever root does on a host stays there.
func TestHostsAreShut(t *testing.T) {
	host, _ := connect(t, vmhost.Spec{}, sshexec.Options{})
	try := func(shell sshexec.Shell) error {
		return host.Exec(within(t, 10*time.Second), sshexec.Command{Shell: shell, Root: true})
	}
	for _, forbidden := range []sshexec.Shell{
		"echo 1 >/proc/sys/vm/swappiness",
		"test -w /proc/sysrq-trigger", // not tried: it would end this machine
		"date -s '2001-01-01'",
		"mount -t tmpfs tmpfs /mnt",
		"mknod /tmp/disk b 254 0",
		"hostname x",
	} {
		if err := try(forbidden); err == nil {
			t.Errorf("root of a host may %s", forbidden)
		}
	}
	name := "/etc/vnfkit-e2e-of-the-host"
	if err := try(sshexec.Shell("echo x >" + name + "; rm -f /etc/os-release; kill -9 -1")); err == nil {
		t.Error("kill -9 -1 spared the command itself")
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of the host is on this machine: %v", err)
	}
	if _, err := os.Stat("/etc/os-release"); err != nil {
		t.Error(err)
	}
}

// TestHostsSeeOnlyThemselves: processes and network of a host are its own.
func TestHostsSeeOnlyThemselves(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{}, sshexec.Options{})
	for command, want := range map[string]string{
		"ip -o -4 addr show scope global": machine.Address.String() + "/16",
		"hostname -I":                     machine.Address.String(),
		"cat /proc/1/comm":                "bash",
		"cat /proc/sys/kernel/hostname":   machine.Name,
	} {
		out, err := host.Output(within(t, 10*time.Second), sshexec.Command{Argv: strings.Fields(command)})
		if err != nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %q, %v", command, out, err)
		}
	}
}
