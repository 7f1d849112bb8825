package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestExec(t *testing.T) {
	show := map[string]sshtest.Command{
		"show": func(_ context.Context, p *sshtest.Process) int {
			_, _ = fmt.Fprintf(p.Stdout, "%s|%q|%s|%q|%q", p.User, p.Args[1:], p.Dir, p.Env("V"), p.Env("W"))
			in, _ := io.ReadAll(p.Stdin)
			_, _ = fmt.Fprintf(p.Stdout, "|%s", in)
			return 0
		},
	}
	awkward := "a 'b' \"c\" $HOME `x`\n\\n*  "
	tests := []struct {
		name    string
		command sshexec.Command
		want    string
	}{
		{"plain", sshexec.Command{Argv: []string{"show"}}, `ubuntu|[]|/home/ubuntu|""|""|`},
		{"awkward arguments", sshexec.Command{Argv: []string{"show", awkward, "", "-x"}}, fmt.Sprintf(`ubuntu|%q|/home/ubuntu|""|""|`, []string{awkward, "", "-x"})},
		{"stdin", sshexec.Command{Argv: []string{"show"}, Stdin: strings.NewReader("in\nput")}, "ubuntu|[]|/home/ubuntu|\"\"|\"\"|in\nput"},
		{"environment", sshexec.Command{Argv: []string{"show"}, Env: map[string]string{"V": awkward, "W": "\n\n"}, Stdin: strings.NewReader("rest")}, fmt.Sprintf(`ubuntu|[]|/home/ubuntu|%q|%q|rest`, awkward, "\n\n")},
		{"directory", sshexec.Command{Argv: []string{"show"}, Dir: "/var/log"}, `ubuntu|[]|/var/log|""|""|`},
		{"root", sshexec.Command{Argv: []string{"show", awkward}, Root: true, Env: map[string]string{"V": awkward}, Stdin: strings.NewReader("rest")}, fmt.Sprintf(`root|%q|/home/ubuntu|%q|""|rest`, []string{awkward}, awkward)},
		{"shell", sshexec.Command{Shell: `for i in 1 2; do echo "$i$V"; done | cat`, Env: map[string]string{"V": "x"}}, "1x\n2x\n"},
		{"shell as root", sshexec.Command{Shell: `whoami; pwd`, Root: true, Dir: "/etc"}, "root\n/etc\n"},
	}
	for _, sudo := range []string{"", "s3cret 'quoted'"} {
		remote := sshtest.Start(t, sshtest.Config{Commands: show, SudoPassword: sudo})
		to := target(t, remote)
		if sudo != "" {
			to.Sudo = sshexec.SudoPassword(sudo)
		}
		host := newPool(t, sshexec.Options{}).Host(to)
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/password=%t", tt.name, sudo != ""), func(t *testing.T) {
				if stdin, ok := tt.command.Stdin.(io.Seeker); ok {
					if _, err := stdin.Seek(0, io.SeekStart); err != nil {
						t.Fatal(err)
					}
				}
				got, err := host.Output(withinMinutes(t), tt.command)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, string(got)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestExitError(t *testing.T) {
	host, _ := connect(t, sshtest.Config{})
	var stderr bytes.Buffer
	err := host.Exec(withinMinutes(t), sshexec.Command{
		Shell: "echo one >&2; echo 'two hunter2' >&2; exit 3", Stderr: &stderr, Secrets: []string{"hunter2"},
	})
	var exit *sshexec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got %v", err)
	}
	want := &sshexec.ExitError{
		Host: "node1", Command: "echo one >&2; echo 'two ***' >&2; exit 3", Code: 3, Stderr: "one\ntwo ***\n",
	}
	if diff := cmp.Diff(want, exit); diff != "" {
		t.Error(diff)
	}
	if got := stderr.String(); got != "one\ntwo hunter2\n" {
		t.Errorf("stderr: %q", got)
	}
	var structural interface {
		CommandFailure() (host, command string, exitCode int, stderr string)
	}
	if !errors.As(err, &structural) {
		t.Error("CommandFailure is not found")
	}
}

func TestCommandRefused(t *testing.T) {
	host, remote := connect(t, sshtest.Config{})
	tests := map[string]sshexec.Command{
		"neither":       {},
		"both":          {Argv: []string{"true"}, Shell: "true"},
		"NUL":           {Argv: []string{"echo", "a\x00b"}},
		"NUL in shell":  {Shell: "echo \x00"},
		"no program":    {Argv: []string{""}},
		"relative dir":  {Argv: []string{"true"}, Dir: "x"},
		"variable name": {Argv: []string{"true"}, Env: map[string]string{"A;B": "x"}},
		"own variable":  {Argv: []string{"true"}, Env: map[string]string{"_sshexec_n": "x"}},
		"NUL in value":  {Argv: []string{"true"}, Env: map[string]string{"A": "\x00"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			var at *sshexec.HostError
			if err := host.Exec(withinMinutes(t), c); !errors.As(err, &at) || at.Host != "node1" {
				t.Errorf("got %v", err)
			}
		})
	}
	if got := remote.Commands(); len(got) != 0 {
		t.Errorf("programs ran: %v", got)
	}
}

func TestOutputTooLarge(t *testing.T) {
	host, _ := connect(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"flood": func(ctx context.Context, p *sshtest.Process) int {
			for ctx.Err() == nil {
				_, _ = p.Stdout.Write(make([]byte, 10000))
			}
			return 1
		},
	}})
	_, err := host.Output(withinMinutes(t), sshexec.Command{Argv: []string{"flood"}})
	if !errors.Is(err, sshexec.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	errStop := errors.New("operator said stop")
	tests := []struct {
		name     string
		stubborn bool
		root     bool
	}{{"ends by TERM", false, false}, {"needs KILL", true, false}, {"root", false, true}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			begun, release := make(chan struct{}), make(chan struct{})
			host, _ := connect(t, sshtest.Config{Commands: map[string]sshtest.Command{
				"hang": func(ctx context.Context, _ *sshtest.Process) int {
					close(begun)
					<-ctx.Done()
					if tt.stubborn {
						<-release
					}
					return 0
				},
			}})
			defer close(release)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-begun
				cancel(errStop)
			}()
			grace := time.Hour // a command that ends by TERM does not wait for the end of the grace period
			if tt.stubborn {
				grace = 100 * time.Millisecond
			}
			start := time.Now()
			err := host.Exec(ctx, sshexec.Command{Argv: []string{"hang"}, Grace: grace, Root: tt.root})
			if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "node1: hang") {
				t.Errorf("got %v", err)
			}
			if d := time.Since(start); tt.stubborn && d < grace {
				t.Errorf("took %v", d)
			}
			if err := host.Run(withinMinutes(t), []string{"true"}, nil, nil, nil); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestCutConnection(t *testing.T) {
	begun := make(chan struct{})
	host, remote := connect(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"hang": func(ctx context.Context, _ *sshtest.Process) int {
			close(begun)
			<-ctx.Done()
			return 0
		},
	}})
	go func() {
		<-begun
		remote.CutConnections()
	}()
	err := host.Run(withinMinutes(t), []string{"hang"}, nil, nil, nil)
	var exit *sshexec.ExitError
	if !errors.Is(err, sshexec.ErrDisconnected) || errors.As(err, &exit) {
		t.Errorf("got %v", err)
	}
	// The connection is dead, so the next command opens a new one.
	if err := host.Run(withinMinutes(t), []string{"true"}, nil, nil, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	hangs := 0
	for _, r := range remote.Commands() {
		if r.Argv[0] == "hang" {
			hangs++
		}
	}
	if hangs != 1 {
		t.Errorf("hang ran %d times", hangs)
	}
}

func TestStdinThatBlocks(t *testing.T) {
	host, _ := connect(t, sshtest.Config{})
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	if err := host.Run(withinMinutes(t), []string{"true"}, r, nil, nil); err != nil {
		t.Error(err)
	}
}

func TestStdinThatFails(t *testing.T) {
	host, _ := connect(t, sshtest.Config{})
	broken := errors.New("disk on fire")
	r, w := io.Pipe()
	_ = w.CloseWithError(broken)
	if err := host.Run(withinMinutes(t), []string{"cat"}, r, nil, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestObserve(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	var events []sshexec.CommandEvent
	host := newPool(t, sshexec.Options{Observe: func(_ context.Context, e sshexec.CommandEvent) { events = append(events, e) }}).Host(target(t, remote))
	err := host.Exec(withinMinutes(t), sshexec.Command{
		Argv: []string{"sh", "-c", "exit 2", "it's hunter2"}, Root: true, Secrets: []string{"it's hunter2"}, Env: map[string]string{"A": "env-7f3a"},
	})
	if len(events) != 2 || events[1].Duration <= 0 || !errors.Is(events[1].Err, err) {
		t.Fatalf("got %+v", events)
	}
	events[1].Duration, events[1].Err = 0, nil
	want := sshexec.CommandEvent{Host: "node1", Command: "sh -c 'exit 2' ***", Root: true}
	after := want
	after.Done = true
	if diff := cmp.Diff([]sshexec.CommandEvent{want, after}, events); diff != "" {
		t.Error(diff)
	}
}

func TestWeakPasswordIsNotMasked(t *testing.T) {
	host, _ := connect(t, sshtest.Config{}) // ubuntu, ubuntu
	err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"cat", "/home/ubuntu/none"}})
	if err == nil || !strings.Contains(err.Error(), "/home/ubuntu/none") {
		t.Errorf("got %v", err)
	}
}
