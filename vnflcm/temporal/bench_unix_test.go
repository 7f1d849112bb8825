//go:build unix

package temporal_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/internal/temporaltest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/temporal"
)

// BenchmarkLCMTemporal runs operations with ten empty steps on PostgreSQL in one process: by the Manager alone, and as
// workflows. The servers share the CPUs with it.
func BenchmarkLCMTemporal(b *testing.B) {
	server := temporaltest.Start(b)
	c := server.Dial(b)
	if err := temporal.CreateAttributes(b.Context(), c, temporaltest.Namespace); err != nil {
		b.Fatal(err)
	}
	database := pgtest.Start(b)
	for _, atOnce := range []int{1, 10, 100} {
		for _, engine := range []string{"alone", "temporal"} {
			b.Run(fmt.Sprintf("%s/%d", engine, atOnce), func(b *testing.B) {
				store, err := postgres.Open(b.Context(), database.NewDatabase(b), postgres.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer store.Close()
				cfg := vnflcm.Config{Store: store, Key: bytes.Repeat([]byte{1}, 32), Infra: map[string]vnflcm.InfraDriver{"toy": stepping{}},
					Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(web), nil })}
				if engine == "temporal" {
					cfg.Runner = temporal.Runner(c, b.Name())
				}
				m, err := vnflcm.New(b.Context(), cfg)
				if err != nil {
					b.Fatal(err)
				}
				defer m.Close(context.WithoutCancel(b.Context()))
				if err := m.VIMs().Put(b.Context(), vnflcm.VimConnectionInfo{VimID: "north", VimType: "toy"}); err != nil {
					b.Fatal(err)
				}
				if engine == "temporal" {
					w := temporal.Worker(c, b.Name(), m, temporal.Options{Limit: 2 * atOnce})
					if err := w.Start(); err != nil {
						b.Fatal(err)
					}
					defer w.Stop()
				}
				var running sync.WaitGroup
				room := make(chan struct{}, atOnce)
				for b.Loop() {
					room <- struct{}{}
					running.Go(func() {
						defer func() { <-room }()
						if err := complete(b.Context(), m); err != nil {
							b.Error(err)
						}
					})
				}
				running.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "operations/s")
			})
		}
	}
}

// complete instantiates a VNF.
func complete(ctx context.Context, m *vnflcm.Manager) error {
	inst, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "web"})
	if err != nil {
		return err
	}
	operationID, err := m.Instantiate(ctx, inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small", VimConnectionInfo: vnflcm.VimConnections{{VimID: "north"}}})
	if err != nil {
		return err
	}
	_, err = m.Wait(ctx, operationID)
	return err
}

// stepping is an infrastructure driver whose ten steps do nothing.
type stepping struct{ cloud }

func (stepping) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	for i := range 10 {
		if err := vnflcm.Do(ctx, op, fmt.Sprint("step-", i), "", func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
