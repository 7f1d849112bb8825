// Vnfm is a VNF manager that serves SOL003 over HTTP: instances, operations, subscriptions. It has all drivers of the SDK.
//
//	go run ./examples/vnfm -sandbox            # machines inside the process, no cloud
//	go run ./examples/vnfm -config vnfm.yaml   # a real one
//
// README.md has every setting, and the life of a VNF by curl, by OpenStack Tacker's client and by Go.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
)

func main() {
	cli.Main("vnfm", func(ctx context.Context) error {
		c, err := readConfig(os.Args[1:])
		if err != nil {
			return err
		}
		return run(ctx, c)
	})
}

// run serves until ctx ends.
func run(ctx context.Context, c *config) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	v, err := compose(ctx, c, log)
	if err != nil {
		return err
	}
	defer v.close()
	if c.migrates || c.planMigration {
		return v.migrate(ctx)
	}
	return v.serve(ctx)
}

// migrate migrates the database, or logs what would change.
func (v *vnfm) migrate(ctx context.Context) error {
	migrate := v.Migrate
	if v.config.planMigration {
		migrate = v.PlanMigration
	}
	done, err := migrate(ctx)
	v.log.InfoContext(ctx, "migration", "planned", v.config.planMigration, "from", done.From, "to", done.To, "records", done.Records, "earlier", done.Earlier)
	return err
}
