package sshexec_test

import (
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestCutWhileSessionsOpen checks that neither callers that run commands nor Pool.Close block if a connection ends while sessions are
// being opened.
func TestCutWhileSessionsOpen(t *testing.T) {
	t.Parallel()
	host := sshtest.Start(t, sshtest.Config{})
	for round := range 60 {
		pool := sshexec.NewPool(sshexec.Options{})
		h := pool.Host(target(t, host))
		if err := h.Run(t.Context(), []string{"true"}, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				for range 3 {
					_ = h.Run(t.Context(), []string{"true"}, nil, nil, nil)
				}
			})
		}
		time.Sleep(time.Duration(round%20) * 200 * time.Microsecond)
		host.CutConnections()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			running.Wait()
			_ = pool.Close()
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("round %d: a call does not return", round)
		}
	}
}
