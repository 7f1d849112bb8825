// Package admin has the commands of "vnfm admin": they read the database of a VNFM, print what its operator asks for, and remove what can be
// removed without an operation. They start no work: a VNFM that runs beside them continues undisturbed.
package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VNFM is what the commands work on.
type VNFM struct {
	*vnflcm.Manager // with AcceptOnly
	// Packages lists the packages of the VNFM. An error comes with the packages that can be listed.
	Packages  func(ctx context.Context) ([]Package, error)
	Retention vnflcm.Retention
	// Unsent returns the places in the feed of changes that subscribers have reached.
	Unsent func(ctx context.Context) ([]vnflcm.Cursor, error)
	// NoWorld is why commands that reach VIMs and machines cannot run; nil if they can.
	NoWorld error
	// Audit runs a command and writes its record.
	Audit   func(ctx context.Context, command string, run func() error) error
	User    string    // who runs the commands
	In      io.Reader // standard input of commands on machines
	Out     io.Writer
	Err     io.Writer // standard error of commands on machines
	Options Options
}

// Options are the flags of the commands.
type Options struct {
	Yes  bool // do what is printed
	JSON bool // print lists as JSON
	All  bool // diagnose everything
}

// command is one of the commands.
type command struct {
	words       string // after its name, for errors
	least, most int    // number of words; most < 0: any
	json        bool   // prints a list
	yes         bool   // does nothing without Options.Yes
	world       bool   // reaches VIMs or machines
	run         func(v *VNFM, ctx context.Context, words []string) error
}

var commands = map[string]command{
	"instances":  {json: true, run: (*VNFM).instances},
	"packages":   {json: true, run: (*VNFM).packages},
	"vims":       {json: true, run: (*VNFM).vims},
	"kubeconfig": {words: "ID", least: 1, most: 1, run: (*VNFM).kubeconfig},
	"ssh":        {words: "ID [VNFC [-- command]]", least: 1, most: -1, world: true, run: (*VNFM).ssh},
	"diagnose":   {words: "ID, or -all", most: 1, json: true, world: true, run: (*VNFM).diagnose},
	"evidence":   {words: "OPERATION", least: 1, most: 1, json: true, run: (*VNFM).evidence},
	"grant":      {words: "OPERATION REASON", least: 2, most: -1, yes: true, run: (*VNFM).grant},
	"abandon":    {words: "ID", least: 1, most: 1, yes: true, run: (*VNFM).abandon},
	"forget":     {words: "KIND ID", least: 2, most: 2, yes: true, run: (*VNFM).forget},
	"purge":      {yes: true, run: (*VNFM).purge},
	"reseal":     {run: (*VNFM).reseal},
}

// Commands returns the names of the commands.
func Commands() []string { return slices.Sorted(maps.Keys(commands)) }

// Check returns the fault of a command line whose first word is one of Commands.
func Check(words []string, o Options) error {
	name, rest := words[0], words[1:]
	c := commands[name]
	switch {
	case len(rest) < c.least, c.most >= 0 && len(rest) > c.most:
		return cli.Wrong("the command is: %s", strings.TrimSpace("vnfm admin "+name+" "+c.words))
	case slices.Contains(rest[:min(len(rest), 2)], ""):
		return cli.Wrong("an id or name is empty: the command is: %s", strings.TrimSpace("vnfm admin "+name+" "+c.words))
	case o.Yes && !c.yes:
		return cli.Wrong("-yes has no effect with %s", name)
	case o.JSON && !c.json:
		return cli.Wrong("-json has no effect with %s", name)
	case o.All && name != "diagnose":
		return cli.Wrong("-all has no effect with %s", name)
	case name == "diagnose" && o.All == (len(rest) == 1):
		return cli.Wrong("diagnose needs either the id of a VNF instance or -all")
	}
	return nil
}

// Run runs a command line that Check has accepted.
func (v *VNFM) Run(ctx context.Context, words []string) error {
	c := commands[words[0]]
	if c.world && v.NoWorld != nil {
		return fmt.Errorf("%s: %w", words[0], v.NoWorld)
	}
	return c.run(v, ctx, words[1:])
}

// destroy prints what a command removes, and calls do if the command line has -yes.
func (v *VNFM) destroy(ctx context.Context, command, plan string, do func() error) error {
	if !v.Options.Yes {
		_, err := fmt.Fprint(v.Out, plan, "Nothing was changed. With -yes the command does this.\n")
		return err
	}
	if _, err := fmt.Fprint(v.Out, plan); err != nil {
		return err
	}
	return v.Audit(ctx, "vnfm admin "+command, do)
}

// show prints a list, as a table or as JSON.
func show[E any](v *VNFM, list []E, columns []string, row func(E) []string) error {
	if v.Options.JSON {
		if list == nil {
			list = []E{}
		}
		out := json.NewEncoder(v.Out)
		out.SetIndent("", "  ")
		return out.Encode(list)
	}
	rows := [][]string{columns}
	for _, e := range list {
		rows = append(rows, row(e))
	}
	return table(v.Out, rows)
}
