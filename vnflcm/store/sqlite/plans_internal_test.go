package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/internal/selection"
)

// TestPlans asks SQLite how it reads lists: each uses the index that finds its records. SQLite has no statistics of the tables, so
// the plans are the same for any number of records.
func TestPlans(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	active := []string{"STARTING", "PROCESSING", "ROLLING_BACK"}
	for name, c := range map[string]struct {
		q     store.Query
		plan  string
		sorts bool // what the index finds, at most as many records as the limit of each state
	}{
		"operations of an instance": {store.Query{Kind: "operation", Instance: "i77"}, "USING INDEX vnfkit_by_instance (kind=? AND instance=?)", false},
		"active operations of one":  {store.Query{Kind: "operation", Instance: "i77", States: active, Limit: 10}, "USING INDEX vnfkit_by_instance (kind=? AND instance=?)", false},
		"active operations":         {store.Query{Kind: "operation", States: active, Limit: 10}, "USING INDEX vnfkit_by_state (kind=? AND state=?)", true},
		"all active operations":     {store.Query{Kind: "operation", States: active}, "USING INDEX vnfkit_by_state (kind=? AND state=?)", false},
		"one state":                 {store.Query{Kind: "operation", States: active[:1], Before: 5}, "USING INDEX vnfkit_by_state (kind=? AND state=? AND start<?)", false},
		"one kind of operation":     {store.Query{Kind: "operation", Operations: []string{"HEAL"}, Limit: 10}, "USING INDEX vnfkit_by_operation (kind=? AND operation=?)", false},
		"kinds of operations":       {store.Query{Kind: "operation", Operations: []string{"HEAL", "SCALE"}, Limit: 10}, "USING INDEX vnfkit_by_operation (kind=? AND operation=?)", true},
		"heals in a state":          {store.Query{Kind: "operation", Operations: []string{"HEAL"}, States: active, Limit: 10}, "USING INDEX vnfkit_by_operation (kind=? AND operation=?)", false},
		"instances of a VNFD":       {store.Query{Kind: "instance", VNFD: "d", Limit: 10}, "USING INDEX vnfkit_by_vnfd (kind=? AND vnfd=?)", false},
		"instances of it in states": {store.Query{Kind: "instance", VNFD: "d", States: active, AfterID: "i5", Limit: 10}, "USING INDEX vnfkit_by_vnfd (kind=? AND vnfd=? AND (start,id)>(?,?))", false},
		"a page of all":             {store.Query{Kind: "operation", AfterStart: 5, AfterID: "o5", Limit: 100}, "USING INDEX vnfkit_by_start (kind=? AND (start,id)>(?,?))", false},
		"steps of an operation":     {store.Query{Kind: "step", Prefix: "o5/"}, "USING INDEX sqlite_autoindex_vnfkit_records_1 (kind=? AND id>? AND id<?)", true},
	} {
		statement, args := selection.Of(c.q, func(int) string { return "?" })
		plan := explain(t, s.readers, statement, args...)
		if !strings.Contains(plan, c.plan) {
			t.Errorf("%s: %s, want %s", name, plan, c.plan)
		}
		if sorts := strings.Contains(plan, "TEMP B-TREE"); sorts != c.sorts {
			t.Errorf("%s: %s; sorts: %t", name, plan, sorts)
		}
	}
}

func explain(t *testing.T, db *sql.DB, statement string, args ...any) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "; ")
}
