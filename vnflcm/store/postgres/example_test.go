package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// Two processes of a VNFM share a database: what one writes the other reads.
func Example() {
	ctx := context.Background()
	dsn := os.Getenv("VNFM_DATABASE") // postgres://vnfm:secret@db.example.com/vnfm?sslmode=verify-full
	for range 2 {
		db, err := postgres.Open(ctx, dsn, postgres.Options{MaxConns: 20})
		if err != nil {
			panic(err)
		}
		defer db.Close()
		err = db.Apply(ctx, store.Batch{Put: []store.Record{{Kind: "instance", ID: "i1", Body: []byte("sealed")}}})
		fmt.Println(err) // the second process gets store.ErrConflict
	}
}

// An error of Open names the fault and does not print the password.
func ExampleOpen_error() {
	_, err := postgres.Open(context.Background(), "postgres://vnfm:secret@db.example.com/vnfm?sslmode=full", postgres.Options{})
	fmt.Println(err)
	// Output: postgres: cannot parse `postgres://vnfm:xxxxx@db.example.com/vnfm?sslmode=full`: failed to configure TLS (sslmode is invalid)
}
