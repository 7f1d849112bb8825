package sshexec

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/internal/fanout"
)

// Tree says which directory on the host is meant.
type Tree struct {
	Path string // absolute
	// Owner is "user" or "user:group", set by UploadTree for the files and for the directories that it makes. Default:
	// the user who writes them.
	Owner string
	// Root reads and writes as root.
	Root bool
	// Progress is called during the transfer, a few times a second at most, and at its end. It counts the bytes of the
	// files that differ. It must not block. Default: no calls.
	Progress func(Progress)
	// Limits bound what DownloadTree takes from the host.
	Limits TreeLimits
}

func (t Tree) validate() error {
	switch {
	case !path.IsAbs(t.Path) || path.Clean(t.Path) != t.Path:
		return fmt.Errorf("directory %q: the path of a tree must be absolute and clean", t.Path)
	case strings.ContainsRune(t.Path, 0):
		return errors.New("the path of a tree contains a NUL byte")
	case t.Owner != "" && !ownerName.MatchString(t.Owner):
		return fmt.Errorf("directory %s: owner %q is not user or user:group", t.Path, t.Owner)
	}
	return nil
}

// treeWorkers is how many small files of a tree are carried at once, and
// treeSmall how large a small one may be.
const (
	treeWorkers = 32
	treeSmall   = 256 << 10
)

// faultsNamed is the number of faults of a tree that an error names; further faults are counted.
const faultsNamed = 20

// faults collects the faults of a tree.
type faults struct {
	mu    sync.Mutex
	named []error
	more  int
}

func (f *faults) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.named) == faultsNamed {
		f.more++
		return
	}
	f.named = append(f.named, err)
}

func (f *faults) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.more > 0 {
		return errors.Join(append(f.named[:len(f.named):len(f.named)], fmt.Errorf("and %d more", f.more))...)
	}
	return errors.Join(f.named...)
}

// each calls fn for the numbers below n, several at once, until a call fails or ctx ends, and waits for the running calls.
// It returns the first error.
func each(ctx context.Context, n, workers int, fn func(int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := fanout.Each(ctx, n, workers, func(i int) error {
		err := fn(i)
		if err != nil {
			stop(err)
		}
		return err
	})
	if err == nil {
		return nil
	}
	return context.Cause(ctx)
}

// plain reports whether programs that print one name per line print this one as
// it is.
func plain(name string) bool { return !strings.ContainsAny(name, "\n\r\\") }

// zeroes returns names as xargs -0 takes them.
func zeroes(names []string) *strings.Reader {
	var list strings.Builder
	for _, n := range names {
		list.WriteString(n)
		list.WriteByte(0)
	}
	return strings.NewReader(list.String())
}

// digestMany defines b, which computes the digests of the files whose NUL-terminated names it reads.
const digestMany = `b() { if command -v openssl >/dev/null 2>&1; then xargs -0 -r openssl dgst -sha256 -r; ` +
	`elif command -v sha256sum >/dev/null 2>&1; then xargs -0 -r sha256sum; else xargs -0 -r shasum -a 256; fi; }; `

// digestLine takes apart what b prints: "digest *name" or "digest  name".
func digestLine(line string) (digest, name string, ok bool) {
	digest, name, ok = strings.Cut(line, " ")
	if !ok || len(digest) != 64 || len(name) < 2 {
		return "", "", false
	}
	return digest, name[1:], true
}
