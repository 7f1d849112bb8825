package preflight

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/mgmt"
)

// connectLimit bounds a connection between two machines. A packet filter that drops packets lets a connection hang.
const connectLimit = 5 * time.Second

// ErrNoForwarding reports that the SSH server of a machine does not forward connections, so that the machine cannot be asked to connect.
var ErrNoForwarding = errors.New("its SSH server does not forward connections")

// Connects returns nil if packets from the machine reach a port of another one and back: the port accepts the connection, or refuses it because
// no program listens yet.
func Connects(ctx context.Context, from mgmt.Node, addr string) error {
	var refused bool
	err := mgmt.Within(ctx, connectLimit, func(ctx context.Context) error {
		conn, err := from.SSH.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		if open, isOpen := errors.AsType[*ssh.OpenChannelError](err); isOpen {
			if open.Reason == ssh.Prohibited {
				return ErrNoForwarding
			}
			refused = strings.Contains(strings.ToLower(open.Message), "refused") // in the words of sshd
		}
		return err
	})
	if refused || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Route is a connection that a cluster needs.
type Route struct {
	From, To mgmt.Node
	Port     int
	For      string // such as "the API"
}

// Blocked finds the connections that are not possible, for the machine n.
func Blocked(ctx context.Context, n mgmt.Node, routes []Route) ([]Finding, error) {
	blocked, unknown := make([]string, len(routes)), make([]error, len(routes))
	_ = fanout.Each(ctx, len(routes), 0, func(i int) error {
		r := routes[i]
		err := Connects(ctx, r.From, net.JoinHostPort(r.To.IP.String(), strconv.Itoa(r.Port)))
		switch {
		case errors.Is(err, ErrNoForwarding):
			unknown[i] = fmt.Errorf("%s: %w", r.From.Label(), err)
		case err != nil:
			blocked[i] = fmt.Sprintf("from %s to TCP %d of %s (%s)", r.From.Label(), r.Port, r.To.Label(), r.For)
		}
		return nil
	})
	var list []string
	for _, text := range blocked {
		if text != "" {
			list = append(list, text)
		}
	}
	if len(list) == 0 || ctx.Err() != nil {
		return nil, errors.Join(unknown...)
	}
	return []Finding{{Ports, n.Label(), "no connection " + strings.Join(list, ", "), "let security groups and firewalls pass it"}}, errors.Join(unknown...)
}
