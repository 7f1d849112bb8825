package vnflcm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// VDUOf returns the VDU whose machines have a connection point: a connection point of the VNFD, of the machines, or one
// that a ConnectionPointNamer adds. It returns "" if no VDU has the connection point, and if the templates of the package
// cannot be read, which Plan reports.
func (op *Operation) VDUOf(cp string) string {
	if vdu, ok := op.vduOf(cp); ok {
		return vdu
	}
	for _, v := range op.VNFCs {
		if _, has := v.CP(cp); has {
			return v.VDU
		}
	}
	namer, able := op.infra.(ConnectionPointNamer)
	if !able {
		return ""
	}
	added, err := namer.ConnectionPoints(op)
	if err != nil {
		return ""
	}
	vdu, _ := op.vduOf(added[cp])
	return vdu
}

// mostNamed is how many connection points an error names.
const mostNamed = 10

// CheckConnectionPoint returns an error if no VDU has the connection point (VDUOf), which is then misspelt. The error names the
// connection points of the VDUs, the most similar first. A VDU that has no machines at present is no error.
func (op *Operation) CheckConnectionPoint(cp string) error {
	if op.VDUOf(cp) != "" {
		return nil
	}
	known, err := op.connectionPoints()
	if err != nil || slices.Contains(known, cp) {
		return err
	}
	known = problem.NearestFirst(cp, known)
	if more := len(known) - mostNamed; more > 0 {
		known = append(known[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	if len(known) == 0 {
		known = []string{"no connection points"}
	}
	reason := "the flavour has no such connection point"
	if _, exists := op.vduOf(cp); exists {
		reason = "it is a connection point of no VDU"
	}
	return fmt.Errorf("%s; VDUs have %s", reason, strings.Join(known, ", "))
}

// connectionPoints returns all connection points for which VDUOf returns a VDU.
func (op *Operation) connectionPoints() ([]string, error) {
	names := map[string]bool{}
	if op.Flavour != nil {
		for _, cp := range op.Flavour.CPs {
			names[cp.ID] = cp.VDU != ""
		}
	}
	for _, v := range op.VNFCs {
		for _, cp := range v.CPs {
			names[cp.CPD] = true
		}
	}
	if namer, able := op.infra.(ConnectionPointNamer); able {
		added, err := namer.ConnectionPoints(op)
		if err != nil {
			return nil, err
		}
		for name, of := range added {
			vdu, _ := op.vduOf(of)
			names[name] = names[name] || vdu != ""
		}
	}
	maps.DeleteFunc(names, func(_ string, ofVDU bool) bool { return !ofVDU })
	return slices.Collect(maps.Keys(names)), nil
}

// vduOf looks a connection point up in the VNFD.
func (op *Operation) vduOf(cp string) (vdu string, ok bool) {
	if op.Flavour == nil {
		return "", false
	}
	i := slices.IndexFunc(op.Flavour.CPs, func(known tosca.ConnectionPoint) bool { return known.ID == cp })
	if i < 0 {
		return "", false
	}
	return op.Flavour.CPs[i].VDU, true
}
