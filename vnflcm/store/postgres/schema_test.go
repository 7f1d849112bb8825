package postgres_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)

	t.Run("opened at once", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				s, err := postgres.Open(context.WithoutCancel(t.Context()), dsn, postgres.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := server.SQL(t, dsn, "SELECT count(*), min(version) FROM vnfkit_schema"); got != "1|1" {
			t.Errorf("rows and version of the schema: %s", got)
		}
	})

	t.Run("newer version", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		open(t, dsn, postgres.Options{})
		server.SQL(t, dsn, "UPDATE vnfkit_schema SET version = 99")
		if _, err := postgres.Open(t.Context(), dsn, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "have version 99") {
			t.Errorf("Open: %v", err)
		}
	})

	t.Run("indexes of a later version", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		open(t, dsn, postgres.Options{})
		const indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'vnfkit_records'"
		all := server.SQL(t, dsn, indexes)
		server.SQL(t, dsn, "DROP INDEX vnfkit_by_vnfd, vnfkit_by_operation")
		server.SQL(t, dsn, "CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT SELECT ON vnfkit_schema, vnfkit_records TO reader; GRANT SELECT, UPDATE ON vnfkit_era TO reader")
		address, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		address.User = url.UserPassword("reader", "secret")
		open(t, address.String(), postgres.Options{}) // may not build them
		open(t, dsn, postgres.Options{})
		if got := server.SQL(t, dsn, indexes); got != all {
			t.Errorf("%s indexes, want %s", got, all)
		}
	})

	t.Run("role without the right to create tables", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		server.SQL(t, dsn, "CREATE ROLE vnfm LOGIN PASSWORD 'secret'; REVOKE CREATE ON SCHEMA public FROM PUBLIC; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
		address, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		address.User = url.UserPassword("vnfm", "secret")
		if _, err := postgres.Open(t.Context(), address.String(), postgres.Options{}); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("Open without tables: %v", err)
		}
		open(t, dsn, postgres.Options{})
		server.SQL(t, dsn, "GRANT SELECT ON vnfkit_schema TO vnfm; GRANT SELECT, UPDATE ON vnfkit_era TO vnfm; GRANT SELECT, INSERT, UPDATE, DELETE ON vnfkit_records TO vnfm")
		s := open(t, address.String(), postgres.Options{})
		apply(t, s, store.Batch{Append: []store.Record{record("a")}, Assert: []store.Record{record("none")}, Wake: true})
		if list, _, err := s.Feed(t.Context(), "", 10); err != nil || len(list) != 1 {
			t.Errorf("Feed: %v, %v", list, err)
		}
	})
}
