package sshexec

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// server counts the connections to one address that are being set up.
type server struct {
	slots chan struct{}
	users int // number of attempts that have a slot or wait for one
}

// startup waits until one more connection to an address may be set up. The caller calls release when the connection is set up or has
// failed.
func (p *Pool) startup(ctx context.Context, addr string) (release func(), err error) {
	p.mu.Lock()
	s := p.servers[addr]
	if s == nil {
		s = &server{slots: make(chan struct{}, p.options.LoginsPerServer)}
		p.servers[addr] = s
	}
	s.users++
	p.mu.Unlock()
	leave := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(p.servers, addr)
		}
	}
	select {
	case s.slots <- struct{}{}:
		return func() {
			<-s.slots
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// crowded reports whether several connections to an address are being set up.
func (p *Pool) crowded(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[addr]
	return s != nil && s.users > 1
}

// errTurnedAway: the host ended the connection before it sent its SSH version. OpenSSH does that with connections
// beyond MaxStartups. Newer versions send a message.
var errTurnedAway = errors.New("the host ended the connection at once")

const beyondStartups = "MaxStartups"

const (
	turnedAwayFirst = 50 * time.Millisecond
	turnedAwayLast  = 1600 * time.Millisecond
)

// dial sets up a connection. If the host has too many unauthenticated connections, also of other clients, dial retries
// at random intervals.
func (p *Pool) dial(ctx context.Context, t Target, limit int, phase func(string)) (*connection, error) {
	addr := t.Addr
	if t.Via != nil {
		addr += " via " + t.Via.key().String()
	}
	for pause := turnedAwayFirst; ; pause *= 2 {
		release, err := p.startup(ctx, addr)
		if err != nil {
			return nil, err
		}
		conn, err := p.dialOnce(ctx, t, limit, phase)
		again := errors.Is(err, errTurnedAway) && pause <= turnedAwayLast &&
			(p.crowded(addr) || strings.Contains(err.Error(), beyondStartups))
		release()
		if !again || retry.Pause(ctx, pause/2+rand.N(pause)) != nil { //nolint:gosec // spreads attempts, hides nothing
			return conn, err
		}
	}
}
