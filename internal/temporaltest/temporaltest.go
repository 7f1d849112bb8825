package temporaltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/vnfkit/vnfkit/internal/pgtest"
)

// Namespace is the namespace of every server.
const Namespace = "vnfm"

// Server is a running Temporal server.
type Server struct {
	Address string // of its frontend

	programs, config, log string
	process               *exec.Cmd
}

// Start starts a server, with another PostgreSQL server, for the time of a test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	if !slices.Contains(strings.Split(os.Getenv("VNFKIT_E2E"), ","), "temporal") {
		tb.Skip("VNFKIT_E2E does not name temporal")
	}
	s := &Server{log: filepath.Join(tb.TempDir(), "temporal.log"), config: filepath.Join(tb.TempDir(), "temporal.yaml")}
	var err error
	if s.programs, err = programs(tb.Context()); err != nil {
		tb.Skip(err)
	}
	database := pgtest.Start(tb)
	dsn := [2]string{database.NewDatabase(tb), database.NewDatabase(tb)}
	for i, schema := range []string{"temporal", "visibility"} {
		if err := s.createTables(tb.Context(), dsn[i], schema); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.configure(tb.Context(), dsn[0], dsn[1]); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	s.Continue(tb)
	s.register(tb)
	return s
}

// programs finds what build.sh has built. It builds nothing: that takes minutes.
func programs(ctx context.Context) (string, error) {
	dir := os.Getenv("VNFKIT_TEMPORAL_DIR")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		found, err := filepath.Glob(filepath.Join(cache, "vnfkit-e2e", "temporal-v*"))
		if err != nil || len(found) == 0 {
			return "", errors.Join(errors.New("the Temporal server is not built: make e2e-temporal builds it"), err)
		}
		dir = found[len(found)-1]
	}
	return dir, exec.CommandContext(ctx, filepath.Join(dir, "server"), "--version").Run() //nolint:gosec // of this machine
}

// createTables creates the tables of a schema with Temporal's own program.
func (s *Server) createTables(ctx context.Context, dsn, schema string) error {
	at, err := url.Parse(dsn)
	if err != nil {
		return err
	}
	password, _ := at.User.Password()
	for _, args := range [][]string{{"setup-schema", "-v", "0.0"}, {"update-schema", "--schema-name", "postgresql/v12/" + schema}} {
		cmd := exec.CommandContext(ctx, filepath.Join(s.programs, "sql"), append([]string{"--plugin", "postgres12", "--endpoint", at.Hostname(),
			"--port", at.Port(), "--user", at.User.Username(), "--database", strings.TrimPrefix(at.Path, "/")}, args...)...)
		cmd.Env = append(os.Environ(), "SQL_PASSWORD="+password)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

// configure writes the configuration file.
func (s *Server) configure(ctx context.Context, dsn, visibility string) error {
	var ports [8]int
	for i := range ports {
		listener, err := listenLow(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = listener.Close() }() // all are open until each has another port
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	s.Address = fmt.Sprint("127.0.0.1:", ports[0])
	var text strings.Builder
	fmt.Fprintf(&text, "log: {stdout: true, level: warn}\npersistence:\n  defaultStore: default\n  visibilityStore: visibility\n  numHistoryShards: 64\n  datastores:\n")
	for name, each := range map[string]string{"default": dsn, "visibility": visibility} {
		at, err := url.Parse(each)
		if err != nil {
			return err
		}
		password, _ := at.User.Password()
		fmt.Fprintf(&text, "    %s: {sql: {pluginName: postgres12, databaseName: %s, connectAddr: %q, connectProtocol: tcp, user: %s, password: %q, maxConns: 20, maxIdleConns: 20}}\n",
			name, strings.TrimPrefix(at.Path, "/"), at.Host, at.User.Username(), password)
	}
	fmt.Fprintf(&text, "global: {membership: {maxJoinDuration: 30s, broadcastAddress: 127.0.0.1}}\nservices:\n")
	for i, service := range []string{"frontend", "matching", "history", "worker"} {
		fmt.Fprintf(&text, "  %s: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}\n", service, ports[2*i], ports[2*i+1])
	}
	fmt.Fprintf(&text, "clusterMetadata:\n  failoverVersionIncrement: 10\n  masterClusterName: active\n  currentClusterName: active\n"+
		"  clusterInformation: {active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: %q}}\n", s.Address)
	return os.WriteFile(s.config, []byte(text.String()), 0o600)
}

// listenLow listens on a free port below 32768: Temporal stores its ports as signed numbers of 16 bits.
func listenLow(ctx context.Context) (listener net.Listener, err error) {
	for range 100 {
		port := 20000 + rand.IntN(12000) //nolint:gosec // a choice, no secret
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			return listener, nil
		}
	}
	return nil, err
}

// Kill kills the server, if it runs.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait() // it was killed
		s.process = nil
	}
}

// Continue starts the server again after Kill, at the same address.
func (s *Server) Continue(tb testing.TB) {
	tb.Helper()
	log, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	s.process = exec.CommandContext(context.WithoutCancel(tb.Context()), filepath.Join(s.programs, "server"), "--config-file", s.config, "--allow-no-auth", "start")
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	c := s.dial(tb, client.Options{})
	defer c.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := c.CheckHealth(tb.Context(), &client.CheckHealthRequest{})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(s.log)
			tb.Fatalf("Temporal does not answer: %v\n%s", err, text[max(0, len(text)-4000):])
		}
	}
}

// register creates the namespace, and waits until every service of the server knows it.
func (s *Server) register(tb testing.TB) {
	tb.Helper()
	c, err := client.NewNamespaceClient(client.Options{HostPort: s.Address, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err = c.Register(tb.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(72 * time.Hour)})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
	}
	known := s.Dial(tb)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		_, err := known.WorkflowService().ListWorkflowExecutions(tb.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: Namespace})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
	}
}

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// Dial returns a client of the namespace, which is closed when the test ends.
func (s *Server) Dial(tb testing.TB) client.Client {
	tb.Helper()
	c := s.dial(tb, client.Options{Namespace: Namespace})
	tb.Cleanup(c.Close)
	return c
}

func (s *Server) dial(tb testing.TB, o client.Options) client.Client {
	tb.Helper()
	o.HostPort, o.Logger, o.Identity = s.Address, quiet, "test"
	c, err := client.NewLazyClient(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}
