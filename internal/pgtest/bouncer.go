package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// bouncerConfig hands connections of any name on to the superuser.
const bouncerConfig = `[databases]
* = host=127.0.0.1 port=%d user=postgres password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
pidfile = %s/pgbouncer.pid
`

// Bouncer starts a pgbouncer in transaction mode before the server. It returns a function that converts the address of
// a database to its address through pgbouncer.
func (s *Server) Bouncer(tb testing.TB) func(dsn string) string {
	tb.Helper()
	port, err := freePort(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	config := filepath.Join(s.dir, "pgbouncer.ini")
	if err := os.WriteFile(config, fmt.Appendf(nil, bouncerConfig, s.port, s.password, port, s.dir), 0o600); err != nil {
		tb.Fatal(err)
	}
	if s.account != nil {
		if err := s.handOver(config); err != nil {
			tb.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(s.dir, "pgbouncer.log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	bouncer := s.command(context.WithoutCancel(tb.Context()), "/usr/sbin/pgbouncer", config)
	bouncer.Stdout, bouncer.Stderr = log, log
	if err := bouncer.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := bouncer.Process.Kill(); err != nil {
			tb.Error(err)
		}
		_ = bouncer.Wait() // it was killed
		if err := os.Remove(filepath.Join(s.dir, "pgbouncer.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
			tb.Error(err)
		}
	})
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := awaitPort(tb.Context(), address); err != nil {
		text, _ := os.ReadFile(log.Name())
		tb.Fatalf("pgbouncer: %v\n%s", err, text)
	}
	return func(dsn string) string {
		parsed, err := url.Parse(dsn)
		if err != nil {
			tb.Fatal(err)
		}
		parsed.Host = address
		return parsed.String()
	}
}

// awaitPort waits until a server listens.
func awaitPort(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for every := time.NewTicker(20 * time.Millisecond); ; {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			every.Stop()
			return err
		case <-every.C:
		}
	}
}
