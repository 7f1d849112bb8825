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
		return host.Exec(within(t, time.Minute), sshexec.Command{Shell: shell, Root: true})
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
		out, err := host.Output(within(t, time.Minute), sshexec.Command{Argv: strings.Fields(command)})
		if err != nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %q, %v", command, out, err)
		}
	}
}

// TestHostsStartAgain: a restart of sshd, of its connections, and of the host itself are what they say.
func TestHostsStartAgain(t *testing.T) {
	own, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	must(t, err)
	for name, s := range map[string]struct {
		systemd bool
		first   string
	}{"plain": {false, "bash"}, "systemd": {true, "systemd"}} {
		t.Run(name, func(t *testing.T) {
			host, machine := connect(t, vmhost.Spec{Systemd: s.systemd}, sshexec.Options{})
			boot := output(t, host, "cat /proc/sys/kernel/random/boot_id")
			if boot == string(own) {
				t.Error("the boot id is that of this machine")
			}
			if first := output(t, host, "cat /proc/1/comm"); first != s.first+"\n" {
				t.Errorf("the first process is %s", first)
			}
			must(t, machine.RestartSSH(within(t, time.Minute)))
			if n := sessions(t, machine); n != 1 {
				t.Errorf("%d connections after a restart of sshd", n)
			}
			output(t, host, "touch stays; touch /tmp/goes; (setsid sleep 600 >/dev/null 2>&1 </dev/null &)")
			await(t, "the process to start", func() bool { return sleeping(t, machine) == 1 })
			must(t, machine.CutConnections(within(t, time.Minute)))
			await(t, "the connection to end", func() bool { return sessions(t, machine) == 0 })
			if sleeping(t, machine) != 1 {
				t.Error("what a connection started has ended with it")
			}
			must(t, machine.Reboot())
			await(t, "the host to go down", func() bool { return sleeping(t, machine) == 0 })
			must(t, host.Wait(within(t, time.Minute)))
			if again := output(t, host, "cat /proc/sys/kernel/random/boot_id; ls stays"); again == boot+"stays\n" || !strings.HasSuffix(again, "\nstays\n") {
				t.Errorf("after the restart: %q", again)
			}
			if out := output(t, host, "ls /tmp"); out != "" {
				t.Errorf("/tmp has %q", out)
			}
		})
	}
}
