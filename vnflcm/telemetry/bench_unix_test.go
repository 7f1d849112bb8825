//go:build unix

package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/telemetry"
)

// ten is a cloud whose instantiation has ten steps that do nothing.
type ten struct{ cloud }

func (*ten) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		if err := vnflcm.Do(ctx, op, name, "", func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkLCMTelemetry compares the CPU time of operations with ten empty steps, whose store is in memory, with and without a
// Telemetry whose providers make nothing. Both run in turn.
func BenchmarkLCMTelemetry(b *testing.B) {
	plain, attached := benched(b, func(*vnflcm.Config) {}), benched(b, func(c *vnflcm.Config) {
		t, err := telemetry.New(telemetry.Options{})
		if err != nil {
			b.Fatal(err)
		}
		t.Attach(c)
	})
	const batch = 50
	var without, with time.Duration
	for b.Loop() {
		without += cpuOf(b, plain, batch)
		with += cpuOf(b, attached, batch)
	}
	b.ReportMetric(float64(without.Microseconds())/float64(b.N*batch), "µs-cpu/operation")
	b.ReportMetric(float64(with)/float64(without), "with/without")
}

// benched returns a function that instantiates a VNF.
func benched(b *testing.B, change func(*vnflcm.Config)) func() {
	b.Helper()
	config := vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32), Infra: map[string]vnflcm.InfraDriver{"toy": new(ten)},
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil }), Logger: slog.New(slog.DiscardHandler)}
	change(&config)
	m, err := vnflcm.New(b.Context(), config)
	if err == nil {
		err = m.VIMs().Put(b.Context(), vnflcm.VimConnectionInfo{VimID: "toy", VimType: "toy"})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close(context.WithoutCancel(b.Context())) })
	return func() {
		inst, err := m.Create(b.Context(), vnflcm.CreateVnfRequest{VnfdID: "web"})
		if err != nil {
			b.Fatal(err)
		}
		op, err := m.Instantiate(b.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small", VimConnectionInfo: vnflcm.VimConnections{{VimID: "toy"}}})
		if err == nil {
			_, err = m.Wait(b.Context(), op)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// cpuOf returns the CPU time of this process while it does something that often.
func cpuOf(b *testing.B, do func(), times int) time.Duration {
	b.Helper()
	used := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	start := used()
	for range times {
		do()
	}
	return used() - start
}
