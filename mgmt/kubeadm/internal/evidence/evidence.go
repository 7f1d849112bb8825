// Package evidence reads from a machine what explains the failure of a step: journals, containers and their logs. It changes nothing, and
// does not depend on operations of a cluster.
package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// File is a text of a machine, or about it.
type File struct {
	Name string
	Text string
	Last int // how many of its last lines explain a failure; 0: the file is for a closer look only
}

// The bounds of files, in bytes.
const (
	mostText = 512 << 10
	mostLine = 300 // of a line in an error
)

// Lines are how many lines of a journal explain a failure.
const Lines = 30

// source is a command whose output is a file.
type source struct {
	name    string
	command sshexec.Command
	last    int
	instead []source // if the machine does not have the program
}

func argv(words ...string) sshexec.Command { return sshexec.Command{Argv: words} }

func journal(unit string) source {
	return source{name: unit + ".journal", last: Lines, command: argv("journalctl", "--unit", unit, "--lines", "1000", "--no-pager", "--output", "short-iso")}
}

// podLogs prints the last lines of the logs of the containers, also of those that have ended.
const podLogs sshexec.Shell = `for f in /var/log/pods/*/*/*.log; do [ -f "$f" ] || continue; echo "==> $f <=="; tail -n 40 "$f"; done`

var sources = []source{
	journal("kubelet"), journal("containerd"),
	{name: "containers", last: 20, command: argv("crictl", "--runtime-endpoint", "unix:///run/containerd/containerd.sock", "ps", "--all"),
		instead: []source{{name: "containers", last: 20, command: argv("ctr", "--namespace", "k8s.io", "containers", "list")}, {name: "pods.log", last: 20, command: sshexec.Command{Shell: podLogs}}}},
	{name: "pods.log", command: sshexec.Command{Shell: podLogs}},
	{name: "disks", command: argv("df", "-h")},
	{name: "memory", command: argv("cat", "/proc/meminfo", "/proc/loadavg")},
}

// Gather reads the files of a machine. It stops, with the error of the connection, at the first command that the machine does not answer.
// Other errors are part of the file.
func Gather(ctx context.Context, n mgmt.Node) (out []File, err error) {
	for _, s := range sources {
		if s.name == last(out).Name {
			continue
		}
		files, err := s.read(ctx, n)
		out = append(out, files...)
		if errors.Is(err, sshexec.ErrConnect) || ctx.Err() != nil {
			return out, err
		}
	}
	return out, nil
}

func last(files []File) File {
	if len(files) == 0 {
		return File{}
	}
	return files[len(files)-1]
}

// noEntries is what journalctl prints about a unit without messages.
const noEntries = "-- No entries --"

// lacksProgram is the exit code of a shell, and of sudo, for a program that does not exist.
const lacksProgram = 127

func (s source) read(ctx context.Context, n mgmt.Node) (out []File, err error) {
	text := &linux.Tail{Most: mostText}
	c := s.command
	c.Stdout, c.Grace = text, time.Second
	err = n.Root().Exec(ctx, c)
	if exit, failed := errors.AsType[*sshexec.ExitError](err); failed && (exit.Code == lacksProgram || strings.Contains(exit.Stderr, "command not found")) && len(s.instead) > 0 {
		for _, other := range s.instead {
			files, err := other.read(ctx, n)
			if out = append(out, files...); err != nil {
				return out, err
			}
		}
		return out, nil
	}
	said := jointoken.MaskedText(text.String())
	if err != nil {
		said = strings.TrimSpace(fmt.Sprintf("%s\n(%v)", said, jointoken.Masked(err)))
	}
	if said == "" || strings.HasPrefix(said, noEntries) {
		return nil, err
	}
	return []File{{Name: s.name, Text: said, Last: s.last}}, err
}

// End returns the end of a text, as much of it as a file may have.
func End(text string) string { return text[max(0, len(text)-mostText):] }

// Program returns the last lines of the program whose failure is in err; nil if no program has failed.
func Program(err error) []File {
	exit, failed := errors.AsType[*sshexec.ExitError](err)
	if !failed || !strings.Contains(strings.TrimSpace(exit.Stderr), "\n") { // the error has the last line
		return nil
	}
	return []File{{Name: "program", Text: End(exit.Stderr), Last: Lines}}
}

// Summary returns the lines of files that explain a failure, in at most most bytes.
func Summary(files []File, most int) string {
	var out strings.Builder
	for _, f := range files {
		if lines := LastLines(f.Text, f.Last); lines != "" {
			fmt.Fprintf(&out, "%s:\n%s\n", f.Name, lines)
		}
	}
	return bounded.Text(strings.TrimSpace(out.String()), most)
}

// LastLines returns the last n lines of a text, each with at most 300 bytes and indented.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-n):]
	var out []string
	for _, line := range lines {
		if line = strings.TrimRight(line, "\r "); line != "" {
			out = append(out, "  "+bounded.Text(line, mostLine))
		}
	}
	return strings.Join(out, "\n")
}
