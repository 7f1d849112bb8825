package kubesim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// exportOptions are those of exports(5) that are known here.
var exportOptions = []string{"rw", "ro", "sync", "no_subtree_check", "all_squash", "root_squash", "secure", "insecure"}

// exportfs lists the exports, or reads the configuration again.
func exportfs(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return err
	}
	switch {
	case len(c.Args) == 0:
		return c.on(func(m *machine) error {
			for _, export := range m.Exports {
				c.Printf("%s\n", export)
			}
			return nil
		})
	case !slices.Equal(c.Args, []string{"-ra"}):
		return fmt.Errorf("kubesim: exportfs %q is not simulated", c.Args)
	}
	files, err := afero.Glob(c.FS, "/etc/exports.d/*.exports")
	if err != nil {
		return err
	}
	var exports []string
	for _, name := range append([]string{"/etc/exports"}, files...) {
		text, err := afero.ReadFile(c.FS, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			listed, err := c.exportLine(strings.Fields(line))
			if err != nil {
				return fmt.Errorf("exportfs: %s: %w", name, err)
			}
			exports = append(exports, listed...)
		}
	}
	return c.on(func(m *machine) error { m.Exports = exports; return nil })
}

// exportLine reads a directory and who may mount it how.
func (c *call) exportLine(words []string) (exports []string, err error) {
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil, nil
	}
	dir := words[0]
	if info, err := c.FS.Stat(dir); err != nil || !info.IsDir() || !path.IsAbs(dir) {
		return nil, fmt.Errorf("Failed to stat %s: No such file or directory", dir)
	}
	if len(words) == 1 {
		return nil, fmt.Errorf("No host name given with %s, suggest *() to avoid warning", dir)
	}
	for _, word := range words[1:] {
		client, options, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
		_, err1 := netip.ParseAddr(client)
		if prefix, err2 := netip.ParsePrefix(client); err1 != nil && (err2 != nil || prefix != prefix.Masked()) {
			return nil, fmt.Errorf("%s has non-inet addr", client)
		}
		there := true
		for option := range strings.SplitSeq(options, ",") {
			if point, isPoint := strings.CutPrefix(option, "mp="); isPoint {
				there = there && c.on(func(m *machine) error {
					if m.Mounts[point] == "" {
						return program.ErrSilent
					}
					return nil
				}) == nil
			} else if !slices.Contains(exportOptions, option) {
				return nil, fmt.Errorf("unknown keyword %q", option)
			}
		}
		if there {
			exports = append(exports, dir+" "+client)
		}
	}
	return exports, nil
}

// mountNFS tells its version.
func mountNFS(_ context.Context, c *call) error {
	if !slices.Equal(c.Args, []string{"-V"}) {
		return fmt.Errorf("kubesim: mount.nfs %q is not simulated", c.Args)
	}
	c.Printf("mount.nfs: (linux nfs-utils 2.6.2)\n")
	return nil
}
