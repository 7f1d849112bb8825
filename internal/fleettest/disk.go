package fleettest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TTL is the LeaseTTL of the processes.
const TTL = time.Second

// VNFD is the id of the descriptor of the VNFs.
const VNFD = "fleet"

var files = fstest.MapFS{"vnfd.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: fleet, template_author: vnfkit, template_version: '1.0'}
node_types:
  fleet.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: fleet.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: fleet.VNF
      properties: {descriptor_id: fleet, descriptor_version: '1.0', provider: vnfkit, product_name: Fleet, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: machines that are files}
    worker:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: worker, description: worker, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 8}}
    worker_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: worker]
`)}}

// Config is the configuration of a process. Each process has another name, and all have the same folder and store.
func Config(dir string, store store.Store, name string) vnflcm.Config {
	return vnflcm.Config{Store: store, Key: bytes.Repeat([]byte{7}, 32), LeaseTTL: TTL,
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil }),
		Infra:    map[string]vnflcm.InfraDriver{"disk": &disk{dir: dir, name: name, store: store}}}
}

// Instantiate begins to instantiate a VNF on its own VIM.
func Instantiate(ctx context.Context, m *vnflcm.Manager, instanceID string) (operationID string, err error) {
	access, err := vnflcm.NewParams(map[string]string{"dir": "."})
	if err != nil {
		return "", err
	}
	return m.Instantiate(ctx, instanceID, vnflcm.InstantiateVnfRequest{FlavourID: "simple",
		VimConnectionInfo: vnflcm.VimConnections{{VimType: "disk", AccessInfo: access}}})
}

// disk is an InfraDriver whose machines are files, which outlive the processes.
type disk struct {
	dir, name string
	store     store.Store
}

func (d *disk) folder(instanceID string) string { return filepath.Join(d.dir, "machines", instanceID) }

func (d *disk) machines(instanceID string) (list []vnflcm.VNFC) {
	names, _ := filepath.Glob(d.folder(instanceID) + "/*")
	for _, name := range names {
		var v vnflcm.VNFC
		if filepath.Ext(name) != "" {
			continue // not renamed yet
		}
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &v) == nil {
			list = append(list, v)
		}
	}
	return list
}

// Machines returns the ids of the machines of a VNF, in the order of their names.
func Machines(dir, instanceID string) (ids []string) {
	for _, v := range (&disk{dir: dir}).machines(instanceID) {
		ids = append(ids, v.ResourceID)
	}
	return ids
}

// make replaces a machine, in a step that takes a while.
func (d *disk) make(ctx context.Context, op *vnflcm.Operation, v vnflcm.VNFC) error {
	began := time.Now() // before the Manager checks the lease
	op.Declare(v.ID)
	return vnflcm.Do(ctx, op, "make", v.ID, func(ctx context.Context) error {
		if err := d.log(ctx, began, vnflcm.StepInfo{OperationID: op.ID, Phase: op.Phase(), Name: "make", On: v.ID}); err != nil {
			return err
		}
		select {
		case <-time.After(60 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		data, err := json.Marshal(v)
		name := filepath.Join(d.folder(op.InstanceID), v.ID)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name+"."+d.name, data, 0o600)); err != nil {
			return err
		}
		return os.Rename(name+"."+d.name, name)
	})
}

// log notes the beginning of a Do: under which claim, and whether the journal has its result already. began is a time before the
// Manager has checked the lease. A lease ends a fifth of the TTL before another process may take over. If that time has passed
// when the records are read, they may be from after a takeover.
func (d *disk) log(ctx context.Context, began time.Time, s vnflcm.StepInfo) error {
	journal := "new"
	claim, err := d.read(ctx, "claim", s.OperationID)
	if err != nil {
		return err
	}
	switch _, err := d.read(ctx, "step", s.Key()); {
	case err == nil:
		journal = "journaled"
	case !errors.Is(err, vnflcm.ErrNotFound):
		return err
	}
	if time.Since(began) > TTL/5 {
		journal = "stopped" // or slow
	}
	f, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, d.name, s.OperationID, claim.Version, journal, s.Key())
	return errors.Join(err, f.Close())
}

// read waits while the store does not answer.
func (d *disk) read(ctx context.Context, kind, id string) (store.Record, error) {
	for {
		r, err := d.store.Get(ctx, kind, id)
		if err == nil || errors.Is(err, vnflcm.ErrNotFound) || ctx.Err() != nil {
			return r, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

const diskMachines = 8

func (d *disk) Plan(_ context.Context, op *vnflcm.Operation) (change vnflcm.Change, err error) {
	if op.Heal != nil {
		change.Replaced = op.VNFCs
		return change, nil
	}
	for range diskMachines {
		change.Added = append(change.Added, vnflcm.VNFC{VDU: "worker"})
	}
	return change, nil
}

func (d *disk) all(ctx context.Context, op *vnflcm.Operation) error {
	for i := range diskMachines {
		v := vnflcm.VNFC{ID: fmt.Sprint("worker-", i), VDU: "worker", ResourceID: fmt.Sprint(op.Kind, "-", i)}
		if err := d.make(ctx, op, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) Instantiate(ctx context.Context, op *vnflcm.Operation) error { return d.all(ctx, op) }
func (d *disk) Heal(ctx context.Context, op *vnflcm.Operation) error        { return d.all(ctx, op) }
func (d *disk) Scale(context.Context, *vnflcm.Operation) error              { return nil }

func (d *disk) Terminate(_ context.Context, op *vnflcm.Operation) error {
	return os.RemoveAll(d.folder(op.InstanceID))
}

func (d *disk) Resources(_ context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{VNFCs: d.machines(op.InstanceID)}, nil
}
