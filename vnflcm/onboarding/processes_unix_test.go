//go:build unix

package onboarding_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// processTTL is longer than the delays of a living process on a busy machine.
const processTTL = 3 * time.Second

// runProcess runs a child process. It executes the uploads that it reads from standard input.
func runProcess(dir string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"))
	if err != nil {
		return err
	}
	r, err := onboarding.New(filepath.Join(dir, "packages"), onboarding.Options{MinFree: 1})
	if err != nil {
		return err
	}
	m, err := vnflcm.New(ctx, vnflcm.Config{Store: db, Key: testKey, Packages: r, LeaseTTL: processTTL})
	if err != nil {
		return err
	}
	go func() { _ = r.Run(ctx) }()
	fmt.Println("ready")
	proceed := make(chan struct{})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch word, id, _ := strings.Cut(in.Text(), " "); word {
		case "half": // uploads one half of a content, and waits
			go func() {
				err := r.Upload(ctx, "north", id, io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), pausing(proceed)), -1)
				if err == nil {
					fmt.Println("error: an upload that another process has ended succeeds")
				}
				fmt.Println("ended")
			}()
		case "proceed":
			close(proceed)
		case "many":
			go uploadMany(ctx, r)
		}
	}
	return m.Close(ctx)
}

// pausing returns a content that prints a line when it is read, and ends when proceed is closed.
func pausing(proceed chan struct{}) io.Reader {
	said := false
	return readerFunc(func([]byte) (int, error) {
		if !said {
			said = true
			fmt.Println("half")
		}
		<-proceed
		return 0, io.EOF
	})
}

// uploadMany uploads packages until the process ends. Every second package has the content of the previous package.
func uploadMany(ctx context.Context, r *onboarding.Repository) {
	t := new(testing.T)
	for i := 0; ; i++ {
		info, err := r.Create(ctx, fmt.Sprint(os.Getpid(), " ", i), nil)
		if err == nil {
			err = r.Upload(ctx, info.Tenant, info.ID, bytes.NewReader(csar(t, fmt.Sprint("vnf", i/2), nil)), -1)
		}
		switch {
		case err != nil:
			fmt.Println("error", err)
			return
		case i == 0:
			fmt.Println("uploaded")
		}
	}
}

// sharedSite returns the site of child processes in a folder.
func sharedSite(t *testing.T, dir string) site {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return site{dir: filepath.Join(dir, "packages"), store: db, ttl: processTTL}
}

// TestProcesses disturbs a process during an upload: kill -9, and SIGSTOP for longer than the TTL. Another process must end the upload.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := sharedSite(t, dir)
			p := s.start(t, nil)
			id, content := p.create(t, "north"), csar(t, "processes", nil)
			child := fleettest.Start(t, dir, "child", nil)
			child.Tell("half " + id)
			child.Await("half")
			wantError(t, "a second upload", p.Upload(t.Context(), "north", id, bytes.NewReader(content), -1), vnflcm.ErrState)
			child.Signal(signal)
			if d := p.await(t, id, onboarding.Failed).OnboardingFailureDetails; d == nil || !strings.Contains(d.Title, "interrupted") {
				t.Errorf("the reason of an interrupted upload: %+v", d)
			}
			must(t, p.Upload(t.Context(), "north", id, bytes.NewReader(content), -1))
			info := p.await(t, id, onboarding.Onboarded)
			if signal == syscall.SIGSTOP {
				child.Signal(syscall.SIGCONT)
				child.Tell("proceed")
				child.Await("ended")
			}
			if now := p.await(t, id, onboarding.Onboarded); now.Version != info.Version {
				t.Errorf("the process that was stopped has changed the package: %+v", now)
			}
			p.stop()
			s.start(t, nil)
			awaitFiles(t, s.dir, 1)
		})
	}
}

// TestKills kills a process at random times while it uploads and checks many packages. Another process must bring each package to
// ONBOARDED or ERROR.
func TestKills(t *testing.T) {
	t.Parallel()
	runs := 3
	if fulltest.Enabled() {
		runs = 30
	}
	dir := t.TempDir()
	s := sharedSite(t, dir)
	for range runs {
		child := fleettest.Start(t, dir, "child", nil)
		child.Tell("many")
		child.Await("uploaded")
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) //nolint:gosec // a time, not a secret
		child.Signal(syscall.SIGKILL)
		<-child.Ended()
	}
	p := s.start(t, nil)
	page, err := p.List(t.Context(), "", "", 0)
	must(t, err)
	contents := map[onboarding.Checksum]bool{}
	for _, info := range page.Items {
		if info := p.awaitEnd(t, info.ID); info.OnboardingState == onboarding.Onboarded {
			contents[*info.Checksum] = true
			must(t, closed(p.Package(t.Context(), info.Tenant, info.ID)))
		}
	}
	t.Logf("%d packages, %d contents", len(page.Items), len(contents))
	p.stop()
	s.start(t, nil)
	awaitFiles(t, s.dir, len(contents))
}
