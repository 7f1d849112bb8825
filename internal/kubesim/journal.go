package kubesim

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/containerd"
)

// Journals is where a test writes the messages of a unit, such as kubelet, which nothing else writes.
const Journals = "/run/log/journal/"

// journalctl prints the messages of one unit.
func journalctl(_ context.Context, c *call) error {
	var unit string
	var lines int
	rest, err := c.Flags(c.Args, func(f *pflag.FlagSet) {
		f.StringVarP(&unit, "unit", "u", "", "")
		f.IntVarP(&lines, "lines", "n", 10, "")
		f.Bool("no-pager", false, "")
		f.StringP("output", "o", "short", "")
	})
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("kubesim: journalctl %q is not simulated", c.Args)
	}
	if err := c.Root(); err != nil {
		return err
	}
	text, err := afero.ReadFile(c.FS, Journals+unit)
	if err != nil {
		_, err := io.WriteString(c.Stdout, "-- No entries --\n")
		return err
	}
	all := strings.SplitAfter(string(text), "\n")
	_, err = io.WriteString(c.Stdout, strings.Join(all[max(0, len(all)-1-lines):], ""))
	return err
}

// containers lists the containers of the static pods whose manifests a machine has.
func (c *call) containers() (out []containerd.Container) {
	names, _ := afero.Glob(c.FS, manifests+"*.yaml")
	slices.Sort(names)
	for _, name := range names {
		component := strings.TrimSuffix(path.Base(name), ".yaml")
		out = append(out, containerd.Container{Name: component, Pod: component + "-" + c.host()})
	}
	return out
}

func (c *call) host() (name string) {
	_ = c.on(func(m *machine) error { name = m.Hostname; return nil })
	return name
}
