package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestSudo(t *testing.T) {
	const password = "s3cret%h 'x'"
	tests := []struct {
		name  string
		host  string // the password that sudo expects
		given *string
		err   error
	}{
		{"no password needed, none given", "", nil, nil},
		{"no password needed, one given", "", new(password), nil},
		{"right password", password, new(password), nil},
		{"wrong password", password, new("wrong-7f3a"), sshexec.ErrSudo},
		{"needed, none given", password, nil, sshexec.ErrSudo},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			remote := sshtest.Start(t, sshtest.Config{SudoPassword: tt.host})
			to := target(t, remote)
			if tt.given != nil {
				to.Sudo = sshexec.SudoPassword(*tt.given)
			}
			var mu sync.Mutex
			var events []string
			host := newPool(t, sshexec.Options{Observe: func(_ context.Context, e sshexec.CommandEvent) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, fmt.Sprintf("%+v %v", e, e.Err))
			}}).Host(to)
			var stdout, stderr bytes.Buffer
			err := host.Exec(withinMinutes(t), sshexec.Command{
				Argv: []string{"tee", "/etc/made"}, Root: true, Stdin: strings.NewReader("content\n"), Stdout: &stdout, Stderr: &stderr,
			})
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if stderr.Len() > 0 {
				t.Errorf("stderr of sudo reached the caller: %q", stderr.String())
			}
			got, _ := afero.ReadFile(remote.FS(), "/etc/made")
			want := "content\n"
			if tt.err != nil {
				want = ""
			}
			if diff := cmp.Diff([]string{want, want}, []string{string(got), stdout.String()}); diff != "" {
				t.Error(diff)
			}
			all := fmt.Sprint(err, events, remote.Commands())
			for _, secret := range []string{password, "wrong-7f3a"} {
				if strings.Contains(all, secret) {
					t.Errorf("%q appears in %s", secret, all)
				}
			}
		})
	}
}

func TestSudoWrongPasswordIsTriedOnce(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{SudoPassword: "right"})
	to := target(t, remote)
	to.Sudo = sshexec.SudoPassword("wrong")
	host := newPool(t, sshexec.Options{}).Host(to)
	err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"true"}, Root: true})
	var at *sshexec.HostError
	if !errors.Is(err, sshexec.ErrSudo) || !errors.As(err, &at) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "no password was provided") {
		t.Errorf("the password was sent again: %v", err)
	}
}

func TestRootNeedsRoot(t *testing.T) {
	host, _ := connect(t, sshtest.Config{})
	c := sshexec.Command{Shell: "echo x > /etc/file && cat /etc/file"}
	var exit *sshexec.ExitError
	if _, err := host.Output(withinMinutes(t), c); !errors.As(err, &exit) {
		t.Errorf("without root: got %v", err)
	}
	c.Root = true
	if _, err := host.Output(withinMinutes(t), c); err != nil {
		t.Errorf("with root: %v", err)
	}
}
