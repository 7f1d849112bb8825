package etcd

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The layout of pages of bbolt (go.etcd.io/bbolt, internal/common), in the byte order of the machine that wrote them: all of those that Kubernetes
// runs on are little-endian.
const (
	pageHeader    = 16 // id, flags at 8, count at 10
	branchElement = 16 // the id of the child at 8
	isBranch      = 1  // in flags
)

// maxDepth bounds the height of a tree. With two children in each branch, 64 levels are more than a database can have pages.
const maxDepth = 64

// tree checks that the pages of a bucket are a tree: bbolt would follow a cycle until the program has no memory.
type tree struct {
	file     io.ReaderAt
	pageSize int64
	seen     map[int64]bool // offsets of branches
}

// check reads the branches below a page. Leaves are read by bbolt.
func (t *tree) check(id uint64, depth int) error {
	head := make([]byte, pageHeader)
	at := int64(id) * t.pageSize //nolint:gosec // overflows as in bbolt, and a negative offset is an error of ReadAt
	if _, err := t.file.ReadAt(head, at); err != nil {
		return fmt.Errorf("%w: page %d of the database: %w", ErrSnapshot, id, err)
	}
	if binary.LittleEndian.Uint16(head[8:]) != isBranch {
		return nil
	}
	if t.seen[at] || depth == maxDepth {
		return fmt.Errorf("%w: the pages of the database are no tree", ErrSnapshot)
	}
	t.seen[at] = true
	children := make([]byte, branchElement*int(binary.LittleEndian.Uint16(head[10:])))
	if _, err := t.file.ReadAt(children, at+pageHeader); err != nil {
		return fmt.Errorf("%w: page %d of the database: %w", ErrSnapshot, id, err)
	}
	if len(children) == 0 {
		return fmt.Errorf("%w: page %d of the database has no children", ErrSnapshot, id)
	}
	for ; len(children) > 0; children = children[branchElement:] {
		if err := t.check(binary.LittleEndian.Uint64(children[8:]), depth+1); err != nil {
			return err
		}
	}
	return nil
}
