package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/sqlite"
)

// Records are still there when the file is opened again.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "state.db")

	store, err := sqlite.Open(ctx, file)
	if err != nil {
		panic(err)
	}
	_ = store.Apply(ctx, vnflcm.Batch{Put: []vnflcm.Record{{Kind: "instance", ID: "i1", Body: []byte("sealed")}}})
	_ = store.Close()

	store, err = sqlite.Open(ctx, file)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	record, err := store.Get(ctx, "instance", "i1")
	fmt.Println(string(record.Body), record.Version, err)
	// Output: sealed 1 <nil>
}
