package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/vnfm/internal/admin"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
)

const adminHelp = `Vnfm admin has commands for the operator of a VNFM. They read its configuration and its database, beside the VNFM or without it.

	vnfm admin -config vnfm.yaml instances          VNF instances with their last operations
	vnfm admin -config vnfm.yaml packages           VNF packages, and the faults of those that cannot be read
	vnfm admin -config vnfm.yaml vims               the registry of VIMs, without credentials
	vnfm admin -config vnfm.yaml diagnose ID        what the record of a VNF instance and its VIM do not have in common
	vnfm admin -config vnfm.yaml diagnose -all      of all VNF instances, and what no record has
	vnfm admin -config vnfm.yaml evidence OPERATION what is kept of the failures of an operation: journals, containers, events
	vnfm admin -config vnfm.yaml kubeconfig ID      print a kubeconfig of a cluster; it has a credential
	vnfm admin -config vnfm.yaml ssh ID             list the machines of a VNF instance
	vnfm admin -config vnfm.yaml ssh ID VNFC        run the commands of standard input on a machine
	vnfm admin -config vnfm.yaml ssh ID VNFC -- df -h
	vnfm admin -config vnfm.yaml grant OPERATION REASON
	                                                let an operation begin that waits for the grant of the NFVO
	vnfm admin -config vnfm.yaml abandon ID         give a VNF instance up whose VIM is gone
	vnfm admin -config vnfm.yaml forget KIND ID     remove a record that cannot be read
	vnfm admin -config vnfm.yaml purge              remove old operations, as the setting retention says
	vnfm admin -config vnfm.yaml reseal             seal all records under the current key

grant, abandon, forget and purge print what they would do, and do it with -yes. docs/admin.md has more.
`

// administer runs a command of the operator.
func administer(ctx context.Context, args []string) error {
	var f flags
	var o admin.Options
	program := cli.New("vnfm admin", adminHelp, admin.Commands()...)
	f.common(program.Flags)
	program.Flags.BoolVar(&o.Yes, "yes", false, "do what grant, abandon, forget or purge print")
	program.Flags.BoolVar(&o.JSON, "json", false, "print a list as JSON")
	program.Flags.BoolVar(&o.All, "all", false, "diagnose all VNF instances and VIMs")
	words, err := program.Parse(args, os.Stdout)
	if err == nil {
		err = admin.Check(words, o)
	}
	if err != nil {
		return err
	}
	c, err := f.settings()
	if err != nil {
		return err
	}
	v := &vnfm{config: c, log: slog.New(slog.NewTextHandler(os.Stderr, nil)), beside: true}
	defer v.close()
	return v.administer(ctx, words, o)
}

// administer opens the database of a VNFM, which may run, and runs a command of the operator. The Manager works on no operation, renews
// nothing, and registers no VIM of the configuration.
func (v *vnfm) administer(ctx context.Context, words []string, o admin.Options) error {
	if err := v.config.hasDatabase(); err != nil {
		return err
	}
	managed, err1 := v.openData(ctx)
	err2 := v.measure(ctx)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	managed.AcceptOnly = true
	if err := v.addDrivers(&managed); err != nil { //nolint:contextcheck // a world is closed, not cancelled
		return err
	}
	var err error
	if v.Manager, err = vnflcm.New(ctx, managed); err != nil {
		return err
	}
	v.atEnd(func() error { return v.Close(context.WithoutCancel(ctx)) })
	return v.commands(o).Run(ctx, words)
}

// commands are those of the operator.
func (v *vnfm) commands(o admin.Options) *admin.VNFM {
	out := &admin.VNFM{Manager: v.Manager, Packages: v.usedPackages, Retention: v.config.Retention.times(),
		Unsent: notify.New(v.Manager, notify.Options{Logger: v.log}).Unsent,
		Audit: func(ctx context.Context, command string, run func() error) error {
			return v.config.audited(ctx, v.log, command, run)
		},
		User: operator(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Options: o}
	if v.config.onSandbox && v.beside {
		out.NoWorld = errNoWorld
	}
	return out
}

var errNoWorld = errors.New("the machines of a sandbox are inside the process that serves it: this command cannot reach them")

// hasDatabase returns an error if there is no database to administer, or no key of it: opening would make them.
func (c *config) hasDatabase() error {
	if c.Data == "" {
		return errors.New("data: is required, the folder of the VNFM that is to be administered")
	}
	var needed []string
	if !c.Postgres.given() {
		needed = append(needed, filepath.Join(c.Data, "vnfm.db"))
	}
	if c.Key.Env == "" {
		needed = append(needed, cmp.Or(c.Key.File, filepath.Join(c.Data, "key")))
	}
	for _, name := range needed {
		if _, err := os.Stat(name); err != nil {
			return fmt.Errorf("there is nothing to administer: %w", err)
		}
	}
	return nil
}
