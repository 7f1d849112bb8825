package ansiblesim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Host is a host of the inventory, logged in to when it is first needed.
type Host struct {
	Name string
	r    *Run

	mu     sync.Mutex
	login  *login
	client *ssh.Client
	asks   bool // sudo asks for a password
}

// Host is a host of the inventory.
func (r *Run) Host(name string) (*Host, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.hosts[name]; h != nil {
		return h, nil
	}
	l, err := newLogin(r.vars.of(name), name, r.args)
	if err != nil {
		return nil, err
	}
	h := &Host{Name: name, r: r, login: l}
	r.hosts[name] = h
	return h, nil
}

func (h *Host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil {
		_ = h.client.Close()
	}
}

// connected logs in, once for the run, as with ControlPersist.
func (h *Host) connected(ctx context.Context) (*ssh.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil {
		return h.client, nil
	}
	client, err := h.login.connect(ctx, h.r.server, h.r.process)
	if err != nil {
		return nil, err
	}
	h.client = client
	if h.r.args.become && h.login.become != "" {
		session, err := client.NewSession()
		if err != nil {
			return nil, h.lost()
		}
		defer func() { _ = session.Close() }()
		h.asks = session.Run("sudo -n true") != nil
	}
	return client, nil
}

// Run runs a program there, as root when --become was given. It fails with a Failure when the program does.
func (h *Host) Run(ctx context.Context, argv ...string) (stdout string, err error) {
	return h.Feed(ctx, "", argv...)
}

// Feed is Run with standard input.
func (h *Host) Feed(ctx context.Context, stdin string, argv ...string) (stdout string, err error) {
	client, err := h.connected(ctx)
	if err != nil {
		return "", err
	}
	session, err := client.NewSession()
	if err != nil {
		return "", h.lost()
	}
	defer func() { _ = session.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = session.Close(); h.close() })
	defer stop()
	var out, errs bytes.Buffer
	session.Stdout, session.Stderr = &out, &errs
	command, input := h.command(argv), stdin
	if h.asks {
		input = h.login.become + "\n" + stdin
	}
	session.Stdin = strings.NewReader(input)
	err = session.Run(command)
	var ended *ssh.ExitError
	switch {
	case err == nil:
		return out.String(), nil
	case !errors.As(err, &ended) || ended.Signal() != "":
		return "", h.lost()
	case h.r.args.become && strings.Contains(errs.String(), "sudo: a password is required"):
		return "", errors.New("Missing sudo password")
	case h.r.args.become && strings.Contains(errs.String(), "incorrect password attempt"), h.r.args.become && strings.Contains(errs.String(), "Sorry, try again"):
		return "", errors.New("Incorrect sudo password")
	}
	return "", &Failure{Msg: "non-zero return code", Cmd: argv, RC: ended.ExitStatus(), Stdout: out.String(), Stderr: strings.TrimSpace(errs.String())}
}

func (h *Host) lost() error {
	return unreachable(fmt.Sprintf("Failed to connect to the host via ssh: Shared connection to %s closed.", h.login.address))
}

// command is what the shell there is given.
func (h *Host) command(argv []string) string {
	switch {
	case !h.r.args.become:
	case h.asks:
		argv = append([]string{"sudo", "-H", "-S", "-p", "", "-u", h.r.args.becomeUser}, argv...)
	default:
		argv = append([]string{"sudo", "-H", "-n", "-u", h.r.args.becomeUser}, argv...)
	}
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// Put writes a file, unless it is so already: then it returns nil, else ErrChanged.
func (h *Host) Put(ctx context.Context, name, content string) error {
	if was, err := h.Run(ctx, "sh", "-c", `cat "$1" 2>/dev/null || true`, "sh", name); err != nil || was == content {
		return err
	}
	_, err := h.Feed(ctx, content, "sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1.ansible" && mv -f "$1.ansible" "$1"`, "sh", name)
	if err != nil {
		return err
	}
	return ErrChanged
}

// Does reports whether a program ends with 0.
func (h *Host) Does(ctx context.Context, argv ...string) (bool, error) {
	_, err := h.Run(ctx, argv...)
	if _, failed := errors.AsType[*Failure](err); failed {
		return false, nil
	}
	return err == nil, err
}
