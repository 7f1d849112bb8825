package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/internal/selection"
)

// TestPlans asks the server how it reads 100,000 finished operations of 10,000 instances, 100 active ones with their steps, and
// the feed: each statement uses the index that finds its records. Connections plan the statements for one record while the table
// may still be empty, and keep these plans.
func TestPlans(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	dsn := server.NewDatabase(t)
	s, err := Open(t.Context(), dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()

	// few says that the server may sort what the index finds.
	check := func(name, index string, few bool, statement string, args ...any) {
		rows, err := conn.Query(t.Context(), "EXPLAIN "+statement, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if !strings.Contains(plan, " "+index) || strings.Contains(plan, "Seq Scan on vnfkit_records") {
			t.Errorf("%s does not use %s:\n%s", name, index, plan)
		}
		if !few && strings.Contains(plan, "Sort  (") { // unlike "Sort Key" of a Merge Append
			t.Errorf("%s sorts records before the limit:\n%s", name, plan)
		}
	}
	const step = "o5000/heal_end/join/w1"
	check("an assertion in an empty table", "vnfkit_records_pkey", false, assertion, "step", step, 1)
	check("a deletion in an empty table", "vnfkit_records_pkey", false, deletion, "step", []string{step, step + "0"}, []int64{1, 2})
	server.SQL(t, dsn, `
		INSERT INTO vnfkit_records (kind, id, version, state, operation, instance, vnfd, start, body)
			SELECT 'operation', 'o' || n, 1, CASE WHEN n % 1000 = 0 THEN 'PROCESSING' ELSE 'COMPLETED' END, CASE WHEN n % 5000 = 0 THEN 'SCALE' ELSE 'HEAL' END,
				'i' || n % 10000, CASE WHEN n % 5000 = 1 THEN 'rare' ELSE 'd' END, n, repeat('x', 500)::bytea
			FROM generate_series(1, 100000) n;
		INSERT INTO vnfkit_records (kind, id, version, state, operation, instance, vnfd, start, body)
			SELECT 'step', 'o' || n * 1000 || '/heal_end/join/w' || w, 1, '', '', '', '', 0, repeat('x', 500)::bytea
			FROM generate_series(1, 100) n, generate_series(1, 20) w;
		INSERT INTO vnfkit_records SELECT 'change', 'c' || n, 1, '', '', '', '', n, 'x', 1, (n + 1000)::text::xid8, 0
			FROM generate_series(1, 100000) n`)
	server.SQL(t, dsn, `VACUUM ANALYZE vnfkit_records`)
	active := []string{"STARTING", "PROCESSING", "ROLLING_BACK"}
	for name, c := range map[string]struct {
		q     store.Query
		index string
		few   bool
	}{
		"operations of an instance":   {store.Query{Instance: "i77"}, "vnfkit_by_instance", true},
		"a page of them":              {store.Query{Instance: "i77", Limit: 100}, "vnfkit_by_instance", true},
		"active operations of one":    {store.Query{Instance: "i77", States: active, Limit: 10}, "vnfkit_by_instance", true},
		"active operations":           {store.Query{States: active}, "vnfkit_by_state", true},
		"the oldest active operation": {store.Query{States: active, Limit: 1}, "vnfkit_by_state", true},
		"operations in a rare state":  {store.Query{States: []string{"FAILED_TEMP"}, Limit: 10}, "vnfkit_by_state", true},
		"a rare kind":                 {store.Query{Operations: []string{"SCALE"}, Limit: 10}, "vnfkit_by_operation", true},
		"a page of several kinds":     {store.Query{Operations: []string{"SCALE", "HEAL"}, AfterStart: 50_000, AfterID: "o50000", Limit: 100}, "vnfkit_by_operation", false},
		"operations of a VNFD":        {store.Query{VNFD: "rare", Limit: 10}, "vnfkit_by_vnfd", true},
		"ended operations of it":      {store.Query{VNFD: "rare", States: []string{"COMPLETED"}, Limit: 10}, "vnfkit_by_vnfd", true},
		"a page of all":               {store.Query{AfterStart: 50_000, AfterID: "o50000", Limit: 100}, "vnfkit_by_start", false},
		"what is older":               {store.Query{Before: 500, Limit: 100}, "vnfkit_by_start", false},
		"a page of several states":    {store.Query{States: append([]string{"COMPLETED"}, active...), AfterStart: 50_000, AfterID: "o50000", Limit: 100}, "vnfkit_by_state", false},
		"steps of an operation":       {store.Query{Kind: "step", Prefix: "o5000/"}, "vnfkit_records_pkey", true},
	} {
		if c.q.Kind == "" {
			c.q.Kind = "operation"
		}
		statement, args := selection.Of(c.q, placeholder)
		check(name, c.index, c.few, statement, args...)
	}
	check("the feed", "vnfkit_by_position", false, feedQuery, 1, "50000", 0, 100)
	check("the greatest position", "vnfkit_by_position", false, mustRaise, "cluster")
}
