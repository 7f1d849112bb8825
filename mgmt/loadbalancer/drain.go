package loadbalancer

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Drain stops new connections to these servers, by id, and waits, for at most limit, until they have no connections. It
// returns the number of connections that are left. The servers stay drained until Put is called for the part that has
// them. Unknown servers have no connections.
func (b *Balancer) Drain(ctx context.Context, servers []string, limit time.Duration) (left int, err error) {
	var targets []string
	err = b.update(ctx, func(s *stored) error {
		for owner, p := range s.Parts {
			for _, group := range p.Groups {
				for _, server := range group {
					if slices.Contains(servers, server.ID) && !slices.Contains(s.Drained[owner], server.ID) {
						s.Drained[owner] = append(s.Drained[owner], server.ID)
					}
				}
			}
			slices.Sort(s.Drained[owner])
		}
		maps.DeleteFunc(s.Drained, func(_ string, ids []string) bool { return len(ids) == 0 })
		targets = s.targets(servers)
		return nil
	})
	if err != nil || len(targets) == 0 {
		return 0, err
	}
	draining := polling(isLeft)
	draining.Within = max(limit, 1) // 0 would mean no limit
	err = draining.Do(ctx, func() (err error) {
		if left, err = b.connections(ctx, targets); err == nil && left > 0 {
			err = errLeft
		}
		return err
	})
	if isLeft(err) && ctx.Err() == nil {
		err = nil
	}
	return left, err
}

var errLeft = errors.New("loadbalancer: connections are left")

func isLeft(err error) bool { return errors.Is(err, errLeft) }

// targets returns the addresses and ports at which frontends reach these servers.
func (s *stored) targets(ids []string) []string {
	groups := map[string][]Server{}
	for _, p := range s.Parts {
		maps.Copy(groups, p.Groups)
	}
	found := map[string]bool{}
	for _, p := range s.Parts {
		for _, f := range p.Frontends {
			for _, group := range f.To {
				for _, server := range groups[group] {
					if slices.Contains(ids, server.ID) {
						found[net.JoinHostPort(server.Address.Unmap().String(), strconv.Itoa(f.Toward))] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// mostFilters bounds the length of the command line: for more servers ss lists all connections of the machine.
const mostFilters = 100

// connections counts the connections of haproxy, its old workers included, to these addresses (ss(8), "STATE-FILTER",
// "EXPRESSION").
func (b *Balancer) connections(ctx context.Context, targets []string) (int, error) {
	argv := []string{"ss", "-Htnp", "state", "connected"}
	c := &connectionCounter{targets: map[string]bool{}}
	for i, t := range targets {
		c.targets[t] = true
		if len(targets) > mostFilters {
			continue
		}
		if i > 0 {
			argv = append(argv, "or")
		}
		argv = append(argv, "dst", t)
	}
	err := b.machine.Exec(ctx, sshexec.Command{Argv: argv, Stdout: c})
	return c.n, err
}

// connectionCounter reads the output of ss: State, Recv-Q, Send-Q, Local Address:Port, Peer Address:Port and the
// process.
type connectionCounter struct {
	targets map[string]bool
	line    []byte
	n       int
}

// longestLine is longer than any line about one connection.
const longestLine = 4096

func (c *connectionCounter) Write(text []byte) (int, error) {
	for _, char := range text {
		if char != '\n' {
			if len(c.line) < longestLine {
				c.line = append(c.line, char)
			}
			continue
		}
		fields := strings.Fields(string(c.line))
		if len(fields) > 5 && c.targets[fields[4]] && strings.Contains(fields[5], `("`+program+`",`) {
			c.n++
		}
		c.line = c.line[:0]
	}
	return len(text), nil
}
