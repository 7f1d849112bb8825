package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore"
)

// A store on a database that the program has opened itself.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1) // each connection to :memory: would be a database of its own
	store := sqlstore.New(db)
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		panic(err)
	}
	first := vnflcm.Batch{Put: []vnflcm.Record{{Kind: "instance", ID: "i1", Body: []byte("sealed")}}}
	fmt.Println(store.Apply(ctx, first))
	fmt.Println(errors.Is(store.Apply(ctx, first), vnflcm.ErrConflict)) // the stored version is 1 by now
	// Output:
	// <nil>
	// true
}
