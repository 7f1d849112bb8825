package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Coordinator runs the coordination scripts of packages while they are changed (vnflcm.Config.Coordinator), as OpenStack Tacker does: Python
// files of the new package, with the rights of this process. Configure one only if packages come from people you trust.
//
// A script reads a pickle of a dict from its standard input: the attributes of new_vnfc_param of the VDU (old_vnfc_param while rolling back),
// and
//
//	ssh_ip          the address of the connection point that cp_name names; absent without one
//	vnfc_info_id    the id of the vnfcInfo
//	is_rollback     whether the change is rolled back
//	inst            the VNF instance, in the form of SOL003 version 3, with the credentials of its VIM
//
// An exit code other than 0 fails the batch with the end of the standard error. A script may run twice, after a crash.
type Coordinator struct{ driver *Driver }

var _ vnflcm.Coordinator = (*Coordinator)(nil)

// NewCoordinator returns a Coordinator. Config.Timeout bounds each script.
func NewCoordinator(c Config) *Coordinator { return &Coordinator{New("coordination", c)} }

// CheckCoordination implements vnflcm.Coordinator. It reads the scripts and does not run them.
func (c *Coordinator) CheckCoordination(ctx context.Context, op *vnflcm.Operation, scripts ...vnflcm.Coordination) error {
	var faults []error
	for _, s := range scripts {
		reasons, err := c.driver.check(ctx, op, s.Script)
		if err != nil {
			return err
		}
		for _, reason := range reasons {
			faults = append(faults, &vnflcm.ParamError{Path: "additionalParams.lcm-operation-coordinate-new-vnf", Value: s.Script, Reason: reason})
		}
	}
	return errors.Join(faults...)
}

// Coordinate implements vnflcm.Coordinator.
func (c *Coordinator) Coordinate(ctx context.Context, op *vnflcm.Operation, of vnflcm.Coordination) error {
	dir, err := os.MkdirTemp("", "vnfkit-coordination-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pkg, home := filepath.Join(dir, "package"), filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.CopyFS(pkg, op.Package)); err != nil {
		return fmt.Errorf("script: unpack the package: %w", err)
	}
	file, err := op.Package.Artifact(of.Script)
	if err != nil {
		return err
	}
	given, err := coordinationInput(op, of)
	if err != nil {
		return err
	}
	pickle, err := c.driver.shim(ctx, given, "encode")
	if err != nil {
		return err
	}
	_, err = c.driver.python(ctx, home, pkg, c.driver.config.Timeout, pickle, filepath.Join(pkg, filepath.FromSlash(file)))
	return err
}

// coordinationInput returns the dict for a coordination script as JSON.
func coordinationInput(op *vnflcm.Operation, of vnflcm.Coordination) ([]byte, error) {
	var params map[string]any
	if err := json.Unmarshal(of.Params.Reveal(), &params); err != nil {
		return nil, err
	}
	inst, err := instanceDocument(op)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"vnfc_info_id": of.VNFC.VDU + "-" + of.VNFC.ID, "is_rollback": op.RollingBack, "inst": inst}
	if name, _ := params["cp_name"].(string); name != "" {
		if cp, has := of.VNFC.CP(name); has && cp.Address().IsValid() {
			out["ssh_ip"] = cp.Address().String()
		}
	}
	maps.Copy(out, params)
	return json.Marshal(out)
}
