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

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Drain leads no new connection to these servers, by id, and waits, for at most limit, until they have none left. It
// returns how many they still had then. They stay drained until the part that has them is put again. Servers that are not
// known have no connections.
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
	errLeft := errors.New("loadbalancer: connections are left")
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		var err error
		if left, err = b.connections(ctx, targets); err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		if left > 0 {
			return struct{}{}, errLeft
		}
		return struct{}{}, nil
	}, backoff.WithBackOff(polling()), backoff.WithMaxElapsedTime(max(limit, 1))) // 0 would be for ever
	if errors.Is(err, errLeft) && ctx.Err() == nil {
		err = nil
	}
	return left, err
}

// targets are the addresses and ports at which frontends reach these servers.
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

// mostFilters bounds the command line: of more servers all connections of the machine are looked at.
const mostFilters = 100

// connections counts those that haproxy, its old workers too, has to these addresses (ss(8), "STATE-FILTER",
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
	err := b.machine.SSH.Exec(ctx, sshexec.Command{Argv: argv, Root: true, Stdout: c})
	return c.n, err
}

// connectionCounter reads State, Recv-Q, Send-Q, Local Address:Port, Peer Address:Port and the process, line by line.
type connectionCounter struct {
	targets map[string]bool
	line    []byte
	n       int
}

// longestLine is more than a line of one connection has.
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
