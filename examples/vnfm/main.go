// Vnfm is a VNF manager that serves SOL003 over HTTP: instances, operations, subscriptions. It has all drivers of the SDK.
//
//	go run ./examples/vnfm -sandbox            # machines inside the process, no cloud
//	go run ./examples/vnfm -config vnfm.yaml   # a real one
//
// README.md has every setting, and the life of a VNF by curl, by OpenStack Tacker's client and by Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c, err := readConfig(os.Args[1:])
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
		err = run(ctx, c)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "vnfm:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, c *config) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	v, err := compose(ctx, c, log)
	if err != nil {
		return err
	}
	defer v.close()
	return v.serve(ctx)
}
