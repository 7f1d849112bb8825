package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/storetest"
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

func TestStore(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	storetest.Run(t, func(t *testing.T) vnflcm.Store { return open(t, server.NewDatabase(t), postgres.Options{}) })
}

// TestOtherCollation has a server whose order of texts is that of a language: "b" comes before "C" and "é" before "f".
func TestOtherCollation(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "--locale-provider=icu", "--icu-locale=en")
	if got := server.SQL(t, server.DSN(), "SELECT 'b' < 'C' AND 'é' < 'f'"); got != "t" {
		t.Fatalf("the server compares byte by byte: %s", got)
	}
	storetest.Run(t, func(t *testing.T) vnflcm.Store { return open(t, server.NewDatabase(t), postgres.Options{}) })
}
