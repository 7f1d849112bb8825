// Tacker-mgmt-driver runs the drivers of this module inside an unmodified OpenStack Tacker: it is what the management driver
// script of a VNF package of the version 2 API calls (script.py). docs/tacker.md shows how to set it up.
//
//	tacker-mgmt-driver -driver kubeadm    do what the conductor says on standard input, as JSON
//	tacker-mgmt-driver vim INSTANCE       print the cluster of a VNF for "openstack vim register --config-file"
//
// What a driver must know later is in the folder -data, sealed: steps that are done, host keys, the request that instantiated the
// VNF. The folder must outlive the conductor.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/hookrun"
)

const help = `Tacker-mgmt-driver runs a management driver of vnfkit inside OpenStack Tacker.

	tacker-mgmt-driver -driver kubeadm    as Tacker's conductor calls it: the hook is on standard input, as JSON
	tacker-mgmt-driver vim INSTANCE       print the cluster of a VNF for "openstack vim register --config-file"
`

func main() {
	data := os.Getenv("VNFKIT_DATA")
	if data == "" {
		data = "/var/lib/vnfkit"
	}
	program := cli.New("tacker-mgmt-driver", help, "vim")
	program.Bare = true
	driver := program.Flags.String("driver", "", strings.Join(driverNames(), ", ")+": the driver whose hook is run")
	program.Flags.StringVar(&data, "data", data, "folder that keeps what drivers must know later; also VNFKIT_DATA")
	program.Main(func(ctx context.Context, words []string) error {
		return run(ctx, data, *driver, words, os.Stdin, os.Stdout)
	})
}

func run(ctx context.Context, data, driver string, args []string, in io.Reader, out io.Writer) error {
	if (driver == "") != (len(args) == 2 && args[0] == "vim") {
		return cli.Wrong(`give either -driver, or "vim" and the id of a VNF instance`)
	}
	h, err := open(ctx, data)
	if err != nil {
		return err
	}
	if driver == "" {
		err = h.showVIM(ctx, args[1], out)
	} else {
		err = bounded.Error(h.hook(ctx, driver, in, out), maxError)
	}
	return errors.Join(err, h.close())
}

// maxError bounds the text of an error, which Tacker shows to its clients.
const maxError = 4000

// hook runs a hook of the driver for Tacker, and writes its result as JSON.
func (h *host) hook(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	driver, known := h.drivers[name]
	if !known {
		return fmt.Errorf("unknown driver: -driver is %q, and may be %s", name, strings.Join(driverNames(), ", "))
	}
	call, err := hookrun.FromTackerV2(in)
	if err != nil {
		return err
	}
	if call.Package, err = tosca.Open(ctx, call.Dir); err != nil {
		return err
	}
	defer call.Package.Close()
	resources, err := h.resources(ctx, call)
	if err != nil {
		return err
	}
	call.SetResources(resources)
	runner := hookrun.Runner{Store: h.store, Key: h.key, Driver: driver, Logger: h.log}
	result, err := runner.Run(ctx, call.Call)
	if err != nil {
		return err
	}
	text, err := vnflcm.RevealJSON(result) // for Tacker alone, which keeps the cluster's token with the instance
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// showVIM writes the entry of a cluster in the form that Tacker registers VIMs from.
func (h *host) showVIM(ctx context.Context, instance string, out io.Writer) error {
	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: h.store, Key: h.key, Packages: vnflcm.PackagesFunc(noPackages), AcceptOnly: true})
	if err != nil {
		return err
	}
	defer manager.Close(ctx) //nolint:errcheck // it only reads
	entry, err := manager.VIMs().Get(ctx, "", kubeadm.VIMID(instance))
	if err != nil {
		return fmt.Errorf("the cluster of the VNF instance %s: %w", instance, err)
	}
	file := map[string]json.RawMessage{"type": json.RawMessage(`"kubernetes"`), "project_name": json.RawMessage(`"default"`)}
	if err := json.Unmarshal(entry.AccessInfo.Reveal(), &file); err != nil {
		return err
	}
	if !entry.Extra.IsZero() {
		file["extra"] = entry.Extra.Reveal()
	}
	text := json.NewEncoder(out) // YAML too
	text.SetIndent("", "  ")
	return text.Encode(file)
}

func noPackages(context.Context, string, string) (tosca.Source, error) {
	return tosca.Source{}, vnflcm.ErrNotFound
}
