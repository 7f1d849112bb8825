package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Server is a running PostgreSQL server with default settings except for the number of connections; it syncs to disk.
type Server struct {
	port      int
	password  string
	programs  string // folder
	dir       string
	account   *user.User // user that runs the server; nil: that of the test
	databases atomic.Int32
}

// patience bounds each program that starts, stops or asks the server, and the wait for pgbouncer.
const patience = time.Minute

// Start starts a server for the time of a test; initdb gets the arguments. It skips the test unless VNFKIT_E2E names
// postgres. PostgreSQL refuses to run as root: for root the server runs as the user postgres.
func Start(tb testing.TB, initdb ...string) *Server {
	tb.Helper()
	if !slices.Contains(strings.Split(os.Getenv("VNFKIT_E2E"), ","), "postgres") {
		tb.Skip("VNFKIT_E2E does not name postgres")
	}
	s := &Server{password: rand.Text()}
	if err := s.create(tb.Context(), initdb); err != nil {
		tb.Fatal(errors.Join(err, s.remove()))
	}
	ended, err := s.guard()
	if err != nil {
		tb.Fatal(errors.Join(err, s.remove()))
	}
	tb.Cleanup(func() {
		if err := errors.Join(s.stop("fast"), ended(), s.remove()); err != nil {
			tb.Error(err)
		}
	})
	if err := s.start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// DSN is the address of the database postgres, for its superuser.
func (s *Server) DSN() string { return s.dsn("postgres") }

// Dir is a folder that programs of the server may write to.
func (s *Server) Dir() string { return s.dir }

func (s *Server) dsn(database string) string {
	return (&url.URL{Scheme: "postgres", User: url.UserPassword("postgres", s.password), Path: "/" + database,
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), RawQuery: "sslmode=disable"}).String()
}

// NewDatabase creates an empty database and returns its address for the superuser.
func (s *Server) NewDatabase(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	s.SQL(tb, s.DSN(), "CREATE DATABASE "+name)
	return s.dsn(name)
}

// SQL runs a statement with psql and returns the rows that it prints.
func (s *Server) SQL(tb testing.TB, dsn, statement string) string {
	tb.Helper()
	return s.Program(tb, "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--command="+statement, dsn)
}

// Program runs a program of PostgreSQL, such as pg_dump, and returns its output.
func (s *Server) Program(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	out, err := s.run(context.WithoutCancel(tb.Context()), name, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSuffix(out, "\n")
}

// Restart stops the server as an operator does, which ends all connections, and starts it again.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.Stop(tb)
	s.Continue(tb)
}

// Crash ends the server at once, without writing its memory to disk.
func (s *Server) Crash(tb testing.TB) {
	tb.Helper()
	if err := s.stop("immediate"); err != nil {
		tb.Fatal(err)
	}
}

// Stop stops the server until Continue.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.stop("fast"); err != nil {
		tb.Fatal(err)
	}
}

// Continue starts a stopped server at the same address.
func (s *Server) Continue(tb testing.TB) {
	tb.Helper()
	if err := s.launch(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatal(err)
	}
}

// create makes the files of the cluster.
func (s *Server) create(ctx context.Context, initdb []string) (err error) {
	if s.programs, err = findPrograms(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "vnfkit-postgres-"); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.password), 0o600); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := s.handOver(s.dir, secret); err != nil {
			return err
		}
	}
	_, err = s.run(ctx, "initdb", append([]string{"--pgdata=" + s.data(), "--username=postgres", "--pwfile=" + secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-sync"}, initdb...)...)
	return err
}

// handOver gives files to the account that the server runs as.
func (s *Server) handOver(names ...string) (err error) {
	if s.account, err = user.Lookup("postgres"); err != nil {
		return err
	}
	uid, badUID := strconv.Atoi(s.account.Uid)
	gid, badGID := strconv.Atoi(s.account.Gid)
	if err := errors.Join(badUID, badGID); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Chown(name, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// start starts the server on a port that is free. Another process may take the port in between: then it takes another one.
func (s *Server) start(ctx context.Context) (err error) {
	for range 5 {
		if s.port, err = freePort(ctx); err != nil {
			return err
		}
		if err = s.launch(ctx); err == nil {
			return nil
		}
	}
	return err
}

func (s *Server) launch(ctx context.Context) error {
	log := filepath.Join(s.dir, "log")
	options := fmt.Sprintf("-c listen_addresses=127.0.0.1 -c port=%d -c unix_socket_directories= -c max_connections=300", s.port)
	if _, err := s.run(ctx, "pg_ctl", "--pgdata="+s.data(), "--log="+log, "--wait", "--options="+options, "start"); err != nil {
		text, _ := os.ReadFile(log)
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// stop stops the server if it runs.
func (s *Server) stop(mode string) error {
	if _, err := os.Stat(filepath.Join(s.data(), "postmaster.pid")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := s.run(context.Background(), "pg_ctl", "--pgdata="+s.data(), "--mode="+mode, "--wait", "stop")
	return err
}

// guard starts a process that ends the server and removes its files if the test process dies before it has done so. The
// guard ends when its standard input does; the function that guard returns ends it.
func (s *Server) guard() (end func() error, err error) {
	const script = `read -r _; [ ! -e "$2/pgbouncer.pid" ] || kill "$(cat "$2/pgbouncer.pid")"; [ ! -e "$2/data/postmaster.pid" ] || "$1/pg_ctl" --pgdata="$2/data" --mode=immediate stop; rm -rf "$2"`
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	guard := s.command(context.Background(), "/bin/sh", "-c", script, "guard", s.programs, s.dir)
	guard.Stdin = reader
	if err := errors.Join(guard.Start(), reader.Close()); err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	return func() error { return errors.Join(writer.Close(), guard.Wait()) }, nil
}

func (s *Server) remove() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// run runs a program of PostgreSQL.
func (s *Server) run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Into a file: the server that pg_ctl starts would keep a pipe open.
	out, err := os.CreateTemp("", "vnfkit-postgres-output-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(out.Name()) }()
	defer out.Close()
	c := s.command(ctx, filepath.Join(s.programs, name), args...)
	c.Stdout, c.Stderr = out, out
	failed := c.Run()
	text, err := os.ReadFile(out.Name())
	if failed != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, failed, text)
	}
	return string(text), err
}

// command prepares a program to run as the account of the server.
func (s *Server) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	all := append([]string{path}, args...)
	if s.account != nil {
		all = append([]string{"setpriv", "--reuid=" + s.account.Uid, "--regid=" + s.account.Gid, "--clear-groups", "--"}, all...)
	}
	c := exec.CommandContext(ctx, all[0], all[1:]...)
	c.Dir = s.dir // the account may not be allowed to read the folder of the test
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=60")
	return c
}

// findPrograms returns the folder with the programs of a server. Debian keeps those of each version in a folder that is not in PATH.
func findPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append([]string{path}, found...)
	}
	if len(found) == 0 {
		return "", errors.New("no initdb in PATH nor in /usr/lib/postgresql: install the packages of internal/pgtest/packages.txt")
	}
	path, err := filepath.EvalSymlinks(found[0])
	return filepath.Dir(path), err
}

// version is the 15 of /usr/lib/postgresql/15/bin/initdb.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
