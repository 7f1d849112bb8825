package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// server is the registry as names of images begin.
func (s *site) server() string {
	host := s.node.IP.String()
	if s.p.ServerName != "" {
		host = s.p.ServerName
	}
	return net.JoinHostPort(host, strconv.Itoa(s.p.Port))
}

// transport reaches the registry at the machine's own address, through SSH: that needs no route from here to there,
// and is what machines beside it see. TLS is verified as they will.
func (s *site) transport() (*http.Transport, error) {
	t := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return s.node.DialContext(ctx, network, net.JoinHostPort(s.node.IP.String(), strconv.Itoa(s.p.Port)))
		}}
	ca, err := s.caCertificate()
	if err != nil || s.p.TLS == nil {
		return t, err
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) > 0 {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca)
	}
	return t, nil
}

func (s *site) scheme() string {
	if s.p.TLS != nil {
		return "https"
	}
	return "http"
}

// awaitReady waits until the registry answers correctly: 200 or, with users, 401 without credentials and 200 with them
// (OCI distribution specification, "Determining Support"). The error has the last output of the container.
func (s *site) awaitReady(ctx context.Context) error {
	transport, err := s.transport()
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	err = mgmt.Within(ctx, s.config.Timeouts.Ready, func(ctx context.Context) error {
		return retry.Policy{First: 100 * time.Millisecond, Most: 3 * time.Second, For: "the registry at " + s.server()}.Do(ctx, func() error { return s.answers(ctx, client) })
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("registry: %s does not answer as it should: %w; %s", s.server(), err, s.condition(ctx))
}

// answers asks once.
func (s *site) answers(ctx context.Context, client *http.Client) error {
	at := url.URL{Scheme: s.scheme(), Host: s.server(), Path: "/v2/"}
	ask := func(user *userParam, want int) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return err
		}
		if user != nil {
			request.SetBasicAuth(user.Username, user.Password.Reveal())
		}
		answer, err := client.Do(request)
		if err != nil {
			if cause, ok := errors.AsType[*url.Error](err); ok {
				err = cause.Err // the rest is said already
			}
			return err
		}
		defer answer.Body.Close()
		_, _ = io.CopyN(io.Discard, answer.Body, 1<<16)
		if answer.StatusCode != want {
			return fmt.Errorf("GET /v2/ is answered by %s and not by %d", answer.Status, want)
		}
		return nil
	}
	if len(s.p.Users) == 0 {
		return ask(nil, http.StatusOK)
	}
	if err := ask(nil, http.StatusUnauthorized); err != nil {
		return err
	}
	for _, user := range s.p.Users {
		if err := ask(&user, http.StatusOK); err != nil {
			return fmt.Errorf("as %s: %w", user.Username, err)
		}
	}
	return nil
}

// condition describes the state of a container that does not work, for an error.
func (s *site) condition(ctx context.Context) string {
	found, err := s.inspect(ctx)
	switch {
	case err != nil:
		return "and its container cannot be inspected: " + err.Error()
	case found == nil:
		return "and its container no longer exists"
	}
	state := fmt.Sprintf("its container is %s (exit code %d, restarted %d times)", found.State.Status, found.State.ExitCode, found.RestartCount)
	if found.State.Error != "" {
		state += ": " + found.State.Error
	}
	logs := linux.Tail{Most: 64 << 10} // more than is shown, so that secrets are masked before the text is cut
	command := sshexec.Command{Argv: []string{"docker", "container", "logs", "--tail", "20", containerName}, Stdout: &logs, Stderr: &logs}
	if err := s.machine.Exec(ctx, command); err != nil {
		return state
	}
	const most = 4 << 10
	said := strings.ToValidUTF8(logs.String(), "?")
	return state + ", and has said last: " + s.op.Mask(strings.TrimSpace(said[max(0, len(said)-most):]))
}
