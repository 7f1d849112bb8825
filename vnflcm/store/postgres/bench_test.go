package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// bodySize is about that of the sealed record of a step.
const bodySize = 1000

// BenchmarkApply compares batches with bare transactions of one INSERT in the same database, with the same number of
// connections. Each worker has a separate claim, as operations do.
func BenchmarkApply(b *testing.B) {
	server := pgtest.Start(b)
	for _, workers := range []int{1, 10, 100} {
		dsn := server.NewDatabase(b)
		ctx := context.Background()
		pool, err := pgxpool.New(ctx, dsn+fmt.Sprintf("&pool_max_conns=%d", workers))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := pool.Exec(ctx, `CREATE TABLE bare (kind TEXT, id TEXT, body BYTEA, PRIMARY KEY (kind, id))`); err != nil {
			b.Fatal(err)
		}
		var ids atomic.Int64
		body := make([]byte, bodySize)
		measure := func(name string, s *postgres.Store, do func(id string, claim store.Record) error) {
			b.Run(fmt.Sprintf("%s/%d", name, workers), func(b *testing.B) {
				claims := make([]store.Record, workers)
				for i := range claims {
					claims[i] = store.Record{Kind: "claim", ID: fmt.Sprint(ids.Add(1))}
					if s != nil {
						if err := s.Apply(ctx, store.Batch{Put: claims[i : i+1]}); err != nil {
							b.Fatal(err)
						}
					}
					claims[i].Version = 1
				}
				left := atomic.Int64{}
				left.Store(int64(b.N))
				b.ResetTimer()
				var wg sync.WaitGroup
				for _, claim := range claims {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if err := do(fmt.Sprintf("o%d/step", ids.Add(1)), claim); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
		s, err := postgres.Open(ctx, dsn, postgres.Options{MaxConns: workers})
		if err != nil {
			b.Fatal(err)
		}
		record := func(id string) store.Record { return store.Record{Kind: "step", ID: id, Body: body} }
		measure("bare", nil, func(id string, _ store.Record) error {
			_, err := pool.Exec(ctx, `INSERT INTO bare VALUES ($1, $2, $3)`, "step", id, body)
			return err
		})
		measure("put", s, func(id string, _ store.Record) error {
			return s.Apply(ctx, store.Batch{Put: []store.Record{record(id)}})
		})
		measure("assert+put", s, func(id string, claim store.Record) error {
			return s.Apply(ctx, store.Batch{Assert: []store.Record{claim}, Put: []store.Record{record(id)}})
		})
		format := store.Record{Kind: "meta", ID: "key"}
		if err := s.Apply(ctx, store.Batch{Put: []store.Record{format}}); err != nil {
			b.Fatal(err)
		}
		format.Version = 1
		measure("2assert+put", s, func(id string, claim store.Record) error { // as a Manager: the format of the store is the same record for all
			return s.Apply(ctx, store.Batch{Assert: []store.Record{claim, format}, Put: []store.Record{record(id)}})
		})
		measure("assert+2put+append", s, func(id string, claim store.Record) error {
			return s.Apply(ctx, store.Batch{Assert: []store.Record{claim}, Put: []store.Record{record(id), record(id + "2")}, Append: []store.Record{record(id + "3")}})
		})
		measure("get", s, func(_ string, claim store.Record) error {
			_, err := s.Get(ctx, claim.Kind, claim.ID)
			return err
		})
		measure("operation", s, func(id string, claim store.Record) error {
			for i := range 14 {
				batch := store.Batch{Assert: []store.Record{claim}, Put: []store.Record{record(fmt.Sprint(id, i))}}
				if i%7 == 0 {
					batch.Append = []store.Record{{Kind: "change", ID: fmt.Sprint(id, i), Body: body}}
				}
				if err := s.Apply(ctx, batch); err != nil {
					return err
				}
			}
			for range 20 {
				if _, err := s.Get(ctx, claim.Kind, claim.ID); err != nil {
					return err
				}
			}
			return nil
		})
		pool.Close()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}
