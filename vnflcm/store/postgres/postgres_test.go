package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dsn string, options postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect opens a session beside the store.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn) // unlike pgx.ParseConfig it accepts the settings of a pool
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// exec runs a statement in a session or transaction.
func exec(t *testing.T, tx interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, statement string, args ...any) {
	t.Helper()
	rows, err := tx.Query(t.Context(), statement, args...)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func record(id string) store.Record {
	return store.Record{Kind: "k", ID: id, Body: []byte(id)}
}

func apply(t *testing.T, s store.Store, b store.Batch) {
	t.Helper()
	if err := s.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// runStoretest gives each check tables in a separate schema.
func runStoretest(t *testing.T, dsn string, options postgres.Options) {
	t.Helper()
	conn, schemas := connect(t, dsn), 0
	storetest.Run(t, func(t *testing.T) store.Store {
		schemas++
		exec(t, conn, fmt.Sprintf("CREATE SCHEMA test%d", schemas))
		return open(t, fmt.Sprintf("%s&search_path=test%d", dsn, schemas), options)
	})
}

// TestStore runs storetest under the settings that change how statements run: modes for pgbouncer, an isolation in which the
// server refuses what it would let wait by default, and a pool in which all wait for one connection.
func TestStore(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for name, setting := range map[string]string{
		"default": "", "exec": "&default_query_exec_mode=exec", "simple protocol": "&default_query_exec_mode=simple_protocol",
		"cache_describe": "&default_query_exec_mode=cache_describe", "serializable": "&default_transaction_isolation=serializable",
		"one connection": "&pool_max_conns=1",
	} {
		t.Run(name, func(t *testing.T) { runStoretest(t, server.NewDatabase(t)+setting, postgres.Options{}) })
	}
}

// TestOtherCollation uses a server that sorts texts by the rules of a language: "b" comes before "C" and "é" before
// "f".
func TestOtherCollation(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "--locale-provider=icu", "--icu-locale=en")
	if got := server.SQL(t, server.DSN(), "SELECT 'b' < 'C' AND 'é' < 'f'"); got != "t" {
		t.Fatalf("the server compares byte by byte: %s", got)
	}
	runStoretest(t, server.NewDatabase(t), postgres.Options{})
}

// TestBouncer has a pgbouncer in transaction mode, which gives each transaction any of its connections.
func TestBouncer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	by := server.Bouncer(t)
	storetest.Run(t, func(t *testing.T) store.Store {
		return open(t, by(server.NewDatabase(t))+"&default_query_exec_mode=exec", postgres.Options{})
	})
	dsn := server.NewDatabase(t)
	s := open(t, by(dsn)+"&default_query_exec_mode=exec", postgres.Options{ListenDSN: dsn})
	notices := watch(t, s)
	apply(t, s, store.Batch{Append: []store.Record{record("a")}})
	await(t, notices)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://vnfm:canary@127.0.0.1:1/vnfm?connect_timeout=1"
	for name, c := range map[string]struct {
		dsn     string
		options postgres.Options
		want    string
	}{
		"no DSN":     {"postgres://vnfm:canary@h/d?pool_max_conns=many", postgres.Options{}, "pool_max_conns"},
		"connection": {dsn, postgres.Options{}, "connect"},
		"MaxConns":   {dsn, postgres.Options{MaxConns: -1}, "MaxConns is -1"},
		"ListenDSN":  {dsn, postgres.Options{ListenDSN: "postgres://vnfm:canary@h:port/d"}, "ListenDSN"},
	} {
		_, err := postgres.Open(t.Context(), c.dsn, c.options)
		if err == nil || !strings.HasPrefix(err.Error(), "postgres: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("shutting down")
	cancel(reason)
	if _, err := postgres.Open(ctx, dsn, postgres.Options{}); !errors.Is(err, reason) {
		t.Errorf("Open with an ended context: %v", err)
	}
}
