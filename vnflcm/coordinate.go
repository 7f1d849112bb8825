package vnflcm

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
)

// Coordinator runs coordination scripts of packages while their VNFs are changed (Config.Coordinator). mgmt/script has one.
type Coordinator interface {
	// CheckCoordination reports every fault of the scripts that the request of a CHANGE_VNFPKG names (*ParamError, joined). It runs nothing.
	CheckCoordination(ctx context.Context, op *Operation, scripts ...Coordination) error
	// Coordinate runs the script for one VNFC, in a step after the VNFC has changed. An error means that the VNF does not work.
	Coordinate(ctx context.Context, op *Operation, c Coordination) error
}

// Coordination is a script of a package with its data for one VNFC.
type Coordination struct {
	// Script is the path of the file in op.Package.
	Script string
	// VNFC is the VNFC as it is now. It is empty in CheckCoordination.
	VNFC VNFC
	// Params are new_vnfc_param of the VDU or, rolling back, old_vnfc_param.
	Params Params
}

// coordinations returns the scripts for the VNFCs of a batch: those of VDUs that vdu_params names.
func (op *Operation) coordinations() (out []Coordination) {
	options, err := op.ChangeVnfPkg.options()
	if err != nil || op.Batch == nil {
		return nil
	}
	script := options.CoordinateNewVNF
	if op.RollingBack {
		script = options.CoordinateOldVNF
	}
	for _, u := range op.Batch.Units {
		i := slices.IndexFunc(op.VNFCs, func(v VNFC) bool { return v.ID == u.ID })
		if script == "" || u.Kind != UnitVNFC || i < 0 || u.Change == VnfcRemoved {
			continue
		}
		for _, p := range options.VDUParams {
			if p.VduID != op.VNFCs[i].VDU && !slices.Contains(u.VDUs, op.Successor(tosca.MappedVDU, p.VduID)) {
				continue
			}
			c := Coordination{Script: script, VNFC: op.VNFCs[i], Params: p.NewVNF}
			if op.RollingBack {
				c.Params = p.OldVNF
			}
			out = append(out, c)
		}
	}
	return out
}

// coordinate runs the scripts of a batch one after the other, each as a step.
func (s *session) coordinate(ctx context.Context) error {
	for _, c := range s.op.coordinations() {
		if s.m.cfg.Coordinator == nil {
			return errNoCoordinator("lcm-operation-coordinate-new-vnf", c.Script)
		}
		err := Do(ctx, s.op, "coordinate", c.VNFC.ID, func(ctx context.Context) error { return s.m.cfg.Coordinator.Coordinate(ctx, s.op, c) })
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCoordination finds the faults of the scripts that the request names.
func (s *session) checkCoordination(ctx context.Context, options PackageChangeOptions) error {
	var faults []error
	for _, script := range [][2]string{{"lcm-operation-coordinate-new-vnf", options.CoordinateNewVNF}, {"lcm-operation-coordinate-old-vnf", options.CoordinateOldVNF}} {
		if script[1] != "" && s.m.cfg.Coordinator == nil {
			faults = append(faults, errNoCoordinator(script[0], script[1]))
		}
	}
	if options.CoordinateNewVNF == "" || len(faults) > 0 {
		return errors.Join(faults...)
	}
	return s.call(ctx, func() error {
		return s.m.cfg.Coordinator.CheckCoordination(ctx, s.op, Coordination{Script: options.CoordinateNewVNF})
	})
}

func errNoCoordinator(name, script string) error {
	return &ParamError{Path: "additionalParams." + name, Value: script, Reason: "this VNFM runs no coordination scripts (Config.Coordinator)"}
}
