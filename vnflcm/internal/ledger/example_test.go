package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A process takes over an operation. The process that had the claim before can write nothing more.
func Example() {
	ctx, shared := context.Background(), store.NewMemory()
	first, second := join(ctx, shared, "p1"), join(ctx, shared, "p2")

	var accepted store.Batch // with the records of the operation, in a Manager
	one := ledger.NewClaim(ctx, first, "o1", "instance", func(err error) { fmt.Println("p1:", err) })
	err := errors.Join(one.Begin(ctx, &accepted), one.Apply(ctx, accepted))
	fmt.Println("accepted:", err)

	two := ledger.NewClaim(ctx, second, "o1", "instance", nil)
	held, err := shared.Get(ctx, ledger.KindClaim, "o1")
	two.Replace(held) // p2 has seen that the lease of p1 has stood still for its TTL: see Sightings
	fmt.Println("taken:", errors.Join(err, two.Take(ctx, store.Batch{}, ledger.Held)), "epoch", two.Epoch())

	result := func(_ context.Context, b *store.Batch) error {
		b.Put = append(b.Put, store.Record{Kind: "step", ID: "o1/join", Body: []byte("sealed, in a Manager")})
		return nil
	}
	fmt.Println("written by p1:", one.Update(ctx, result) == nil)
	fmt.Println("written by p2:", two.Update(ctx, result) == nil)
	// Output:
	// accepted: <nil>
	// taken: <nil> epoch 2
	// p1: vnflcm: another process works on this operation: another process has taken over operation o1
	// written by p1: false
	// written by p2: true
}

// join returns the lease of a new process on a store.
func join(ctx context.Context, s store.Store, name string) *ledger.Lease {
	l, err := ledger.New(s, 2, json.Marshal, []byte("at least 16 bytes"))
	if err == nil {
		err = l.Check(ctx, slog.New(slog.DiscardHandler), "operation")
	}
	if err != nil {
		panic(err)
	}
	return ledger.NewLease(l, ledger.KindProcess, name, 15*time.Second, 64)
}
