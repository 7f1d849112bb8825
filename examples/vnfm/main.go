// Vnfm is a VNF manager that serves SOL003 over HTTP: instances, operations, subscriptions. It has all drivers of the SDK.
//
//	go run ./examples/vnfm -sandbox            # machines inside the process, no cloud
//	go run ./examples/vnfm -config vnfm.yaml   # a real one
//	go run ./examples/vnfm admin -h            # commands for its operator
//
// README.md has every setting, and the life of a VNF by curl, by OpenStack Tacker's client and by Go.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "admin" {
		cli.Main("vnfm admin", func(ctx context.Context) error { return administer(ctx, os.Args[2:]) })
	}
	cli.Main("vnfm", func(ctx context.Context) error {
		c, err := readConfig(os.Args[1:])
		if err != nil {
			return err
		}
		return run(ctx, c)
	})
}

// run serves until ctx ends, or migrates the database.
func run(ctx context.Context, c *config) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if c.planMigration {
		return migrate(ctx, c, log)
	}
	if c.migrates {
		return c.audited(ctx, log, "vnfm -migrate", func() error { return migrate(ctx, c, log) })
	}
	v, err := compose(ctx, c, log)
	if err != nil {
		return err
	}
	defer v.close()
	return v.serve(ctx)
}

// migrate migrates the database, or logs what would change. Its Manager works on no operation and has no VIM of the configuration.
func migrate(ctx context.Context, c *config, log *slog.Logger) error {
	v := &vnfm{config: c, log: log}
	defer v.close()
	managed, err := v.openData(ctx)
	if err != nil {
		return err
	}
	managed.AcceptOnly = true
	if v.Manager, err = vnflcm.New(ctx, managed); err != nil {
		return err
	}
	v.atEnd(func() error { return v.Close(context.WithoutCancel(ctx)) })
	migrate := v.Migrate
	if c.planMigration {
		migrate = v.PlanMigration
	}
	done, err := migrate(ctx)
	log.InfoContext(ctx, "migration", "planned", c.planMigration, "from", done.From, "to", done.To, "records", done.Records, "earlier", done.Earlier)
	return err
}
