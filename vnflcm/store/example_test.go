package store_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A batch is applied only if every record has the version that the batch gives.
func Example() {
	ctx, s := context.Background(), store.NewMemory()
	first := store.Record{Kind: "note", ID: "1", Body: []byte("sealed")}
	if err := s.Apply(ctx, store.Batch{Put: []store.Record{first}}); err != nil {
		fmt.Println(err)
		return
	}
	found, err := s.Get(ctx, "note", "1")
	fmt.Println(found.Version, err)

	err = s.Apply(ctx, store.Batch{Put: []store.Record{first}}) // of another writer, that found no record
	fmt.Println(errors.Is(err, store.ErrConflict))
	// Output:
	// 1 <nil>
	// true
}
