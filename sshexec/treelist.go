package sshexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// TreeLimits limit the data that DownloadTree accepts from a host, which may be broken or hostile. A field that is 0 has its
// default.
type TreeLimits struct {
	// Entries is the number of directories, files and other entries below the directory; default 100,000.
	Entries int
	// NameBytes is the total length of all names below the directory; default 16 MiB. A single name may have 4096 bytes, as on
	// Linux.
	NameBytes int
	// Depth is the number of directories in a name; default 100.
	Depth int
	// Bytes is the total size of all files; default 64 GiB. Files that the local directory already has do not count. Parts that
	// were lost with a connection count.
	Bytes int64
}

// maxTreeName limits the length of a name below a tree (PATH_MAX of Linux).
const maxTreeName = 4096

func (l TreeLimits) withDefaults() TreeLimits {
	return TreeLimits{
		Entries:   cmp.Or(l.Entries, 100_000),
		NameBytes: cmp.Or(l.NameBytes, 16<<20),
		Depth:     cmp.Or(l.Depth, 100),
		Bytes:     cmp.Or(l.Bytes, 64<<30),
	}
}

// listScript prints the names of all directories, of all files, and of all other entries below $1. Each name ends with
// NUL, each list with another NUL.
const listScript = `LC_ALL=C; export LC_ALL; [ -e "$1" ] || exit 44; cd "$1" || exit 1; ` +
	`find . -type d -print0 && printf "\000" && find . -type f -print0 && printf "\000" && ` +
	`find . ! -type d ! -type f -print0 && printf "\000"`

// list reads the names and digests from the host.
func (d *treeDownload) list(ctx context.Context) error {
	d.dirs, d.files, d.irregular = nil, nil, faults{}
	lists := nameLists{limits: d.tree.Limits, name: d.named}
	err := d.host.Exec(ctx, Command{
		Argv: []string{"/bin/sh", "-c", listScript, "sh", d.tree.Path}, Root: d.tree.Root, Stdout: &lists, Grace: time.Second,
		does: doing("list", d.tree.Path),
	})
	if err != nil {
		return d.host.fileFault("download", d.tree.Path, err)
	}
	if lists.at != listEnd {
		return errors.New("the host did not send all names")
	}
	return d.digests(ctx)
}

// named adds a name from one of the lists.
func (d *treeDownload) named(list int, name string) error {
	switch {
	case !inside(name):
		return fmt.Errorf("the host sent the name %q, which is not below the directory", name)
	case list == listDirs:
		d.dirs = append(d.dirs, name)
	case list == listFiles:
		d.files = append(d.files, &remoteFile{name: name})
	default:
		d.irregular.add(fmt.Errorf("%q: %w", name, ErrIrregular))
	}
	return nil
}

// inside reports whether a name stays below the directory, also on this machine. os.Root prevents leaving it through links.
func inside(name string) bool {
	return path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name))
}

// The lists of listScript, in their order.
const (
	listDirs = iota
	listFiles
	listIrregular
	listEnd
)

// nameLists parses the output of listScript, and stores only the current name.
type nameLists struct {
	limits TreeLimits
	name   func(list int, name string) error

	at      int // number of the current list
	rest    []byte
	entries int
	bytes   int
}

func (l *nameLists) Write(p []byte) (int, error) {
	for _, c := range p {
		switch {
		case l.at == listEnd:
			return 0, errors.New("the host sent more than requested")
		case c != 0:
			if len(l.rest) >= maxTreeName {
				return 0, &LimitError{What: "bytes in a name of the tree", Limit: maxTreeName}
			}
			l.rest = append(l.rest, c)
		case len(l.rest) == 0:
			l.at++
		default:
			if err := l.take(strings.TrimPrefix(string(l.rest), "./")); err != nil {
				return 0, err
			}
			l.rest = l.rest[:0]
		}
	}
	return len(p), nil
}

func (l *nameLists) take(name string) error {
	l.entries++
	l.bytes += len(name)
	switch {
	case l.entries > l.limits.Entries:
		return &LimitError{What: "files and directories", Limit: int64(l.limits.Entries)}
	case l.bytes > l.limits.NameBytes:
		return &LimitError{What: "bytes in the names of the tree", Limit: int64(l.limits.NameBytes)}
	case strings.Count(name, "/") > l.limits.Depth:
		return &LimitError{What: "levels of directories", Limit: int64(l.limits.Depth)}
	}
	return l.name(l.at, name)
}

const treeDigestScript = `LC_ALL=C; export LC_ALL; ` + digestMany + `cd "$1" || exit 1; b 2>/dev/null; exit 0`

// digests requests the digests of all files whose names can be passed to the host.
func (d *treeDownload) digests(ctx context.Context) error {
	var names []string
	files := map[string]*remoteFile{}
	for _, f := range d.files {
		if plain(f.name) {
			files["./"+f.name] = f
			names = append(names, "./"+f.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return d.host.Exec(ctx, Command{
		Argv:  []string{"/bin/sh", "-c", treeDigestScript, "sh", d.tree.Path},
		Stdin: zeroes(names), Root: d.tree.Root, Grace: time.Second, does: doing("digest files below", d.tree.Path),
		Stdout: atMost(len(names), func(line string) error {
			if digest, name, ok := digestLine(line); ok && files[name] != nil {
				files[name].digest = strings.Clone(digest)
			}
			return nil
		}),
	})
}
