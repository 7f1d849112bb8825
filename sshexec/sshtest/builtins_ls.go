package sshtest

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/afero"
)

func ls(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("1lad", false)
	if err != nil {
		return p.usage("%v", err)
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	return p.each(names, func(at string) error { return p.list(at, found) })
}

// list prints a file, or the content of a directory. It follows a link to a directory unless the options ask for the link
// itself.
func (p *Process) list(at string, found options) error {
	info, err := p.lstat(at)
	if err != nil {
		return err
	}
	if behind, err := p.FS.Stat(at); err == nil && !found.has('l') && !found.has('d') {
		info = behind
	}
	if !info.IsDir() || found.has('d') {
		p.listOne(info, at, at, found)
		return nil
	}
	entries, err := afero.ReadDir(p.FS, at)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") || found.has('a') {
			p.listOne(entry, entry.Name(), path.Join(at, entry.Name()), found)
		}
	}
	return err
}

func (p *Process) listOne(info fs.FileInfo, name, at string, found options) {
	if found.has('l') {
		owner := strings.ReplaceAll(p.host.files.ownerOf(at), ":", " ")
		name = fmt.Sprintf("%s 1 %s %d %s %s", modeText(info.Mode()), owner, info.Size(), info.ModTime().Format("Jan _2 15:04"), name)
		if links, ok := p.FS.(afero.LinkReader); ok && info.Mode().Type() == fs.ModeSymlink {
			if target, err := links.ReadlinkIfPossible(at); err == nil {
				name += " -> " + target
			}
		}
	}
	p.print([]string{name})
}

func modeText(mode fs.FileMode) string {
	text := []byte("-" + mode.Perm().String()[1:])
	switch mode.Type() {
	case fs.ModeDir:
		text[0] = 'd'
	case fs.ModeSymlink:
		text[0] = 'l'
	}
	if mode&fs.ModeSticky != 0 {
		text[9] = 't'
	}
	return string(text)
}
