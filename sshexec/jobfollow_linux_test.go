package sshexec_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
)

func TestJobFollowFromOffsets(t *testing.T) {
	t.Parallel()
	host, _ := jobHost(t)
	whole, _ := outcome(t, host, "j", sshexec.Command{Shell: `i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done; printf '\000\377'`})
	job := host.Job("j", "")
	for _, offset := range []int64{0, 1, 65535, 65536, 65537, int64(len(whole)) - 1, int64(len(whole))} {
		var out bytes.Buffer
		next, err := job.Follow(withinMinutes(t), &out, offset)
		if err != nil || next != int64(len(whole)) || out.String() != whole[offset:] {
			t.Errorf("offset %d: %d bytes, next %d, %v", offset, out.Len(), next, err)
		}
	}
	for _, offset := range []int64{-1, int64(len(whole)) + 1} {
		if next, err := job.Follow(withinMinutes(t), new(bytes.Buffer), offset); err == nil || next != offset {
			t.Errorf("offset %d: next %d, no error", offset, next)
		}
	}
}

// TestJobFollowMuch follows a job with more output than fits in one answer, with arbitrary bytes.
func TestJobFollowMuch(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	ctx := withinMinutes(t)
	job, err := host.StartJob(ctx, "j", sshexec.Command{Shell: "head -c 20000001 /dev/urandom", Dir: remote.home})
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.New()
	next, err := job.Follow(ctx, digest, 0)
	if err != nil || next != 20000001 {
		t.Fatalf("%d, %v", next, err)
	}
	text, err := os.ReadFile(filepath.Join(remote.jobDir("j"), "output"))
	if err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(text); !bytes.Equal(want[:], digest.Sum(nil)) {
		t.Error("Follow returned other data than the job wrote")
	}
}

// TestJobFollowThroughCuts follows a job that writes output, while the test repeatedly cuts the connections or kills the commands that
// read the output.
func TestJobFollowThroughCuts(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*shellHost){"cut": (*shellHost).cut, "killed": (*shellHost).killSessions} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			followThrough(t, disturb)
		})
	}
}

func followThrough(t *testing.T, disturb func(*shellHost)) {
	t.Helper()
	host, remote := jobHost(t)
	ctx := withinMinutes(t)
	// The job writes until the test has caused enough interruptions.
	c := sshexec.Command{Shell: `i=0; while [ $i -lt 60 ]; do printf '%s %0999d\n' $i 0; i=$((i + 1)); sleep 0.02; ` +
		`if [ $i = 50 ]; then until [ -e enough ]; do sleep 0.02; done; fi; done`, Dir: remote.home}
	job, err := host.StartJob(ctx, "j", c)
	if err != nil {
		t.Fatal(err)
	}
	cutting, stop := context.WithCancel(ctx)
	ended := make(chan int)
	go func() {
		ticker := time.NewTicker(60 * time.Millisecond)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ticker.C:
				disturb(remote)
			case <-cutting.Done():
				ended <- n
				return
			}
			if n == 3 {
				if err := os.WriteFile(filepath.Join(remote.home, "enough"), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
			if n == 12 {
				stop()
			}
		}
	}()
	var out bytes.Buffer
	next, err := job.Follow(ctx, &out, 0)
	stop()
	cuts := <-ended
	var want strings.Builder
	for i := range 60 {
		fmt.Fprintf(&want, "%d %0999d\n", i, 0)
	}
	if err != nil || out.String() != want.String() || next != int64(out.Len()) {
		t.Errorf("%d bytes of %d, next %d: %v", out.Len(), want.Len(), next, err)
	}
	if err := job.Wait(ctx); err != nil || cuts < 3 {
		t.Errorf("%d cuts, %v", cuts, err)
	}
}

// TestJobFollowGoesOn checks that a failing writer ends Follow, and that the next call returns the rest.
func TestJobFollowGoesOn(t *testing.T) {
	t.Parallel()
	host, _ := jobHost(t)
	whole, _ := outcome(t, host, "j", sshexec.Command{Shell: `head -c 300000 /dev/zero | tr '\000' x; echo end`})
	full := errors.New("full")
	var out bytes.Buffer
	w := writerFunc(func(p []byte) (int, error) {
		if room := 100_000 - out.Len(); len(p) > room {
			n, _ := out.Write(p[:room])
			return n, full
		}
		return out.Write(p)
	})
	job := host.Job("j", "")
	next, err := job.Follow(withinMinutes(t), w, 0)
	if !errors.Is(err, full) || next != 100_000 {
		t.Errorf("next %d, %v", next, err)
	}
	if _, err := job.Follow(withinMinutes(t), &out, next); err != nil || out.String() != whole {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

// TestSudoKilled checks that a command which the host kills while sudo starts does not fail with ErrSudo.
func TestSudoKilled(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	remote.path = remote.home + ":"
	if err := os.WriteFile(filepath.Join(remote.home, "sudo"), []byte("#!/bin/sh\nkill -9 0\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"true"}, Root: true})
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok || exit.Signal != "KILL" || errors.Is(err, sshexec.ErrSudo) {
		t.Errorf("got %v", err)
	}
}
