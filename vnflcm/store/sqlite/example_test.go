package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// Records are still there when the file is opened again.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "state.db")

	db, err := sqlite.Open(ctx, file)
	if err != nil {
		panic(err)
	}
	_ = db.Apply(ctx, store.Batch{Put: []store.Record{{Kind: "instance", ID: "i1", Body: []byte("sealed")}}})
	_ = db.Close()

	db, err = sqlite.Open(ctx, file)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	record, err := db.Get(ctx, "instance", "i1")
	fmt.Println(string(record.Body), record.Version, err)
	// Output: sealed 1 <nil>
}
