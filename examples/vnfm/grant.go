package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// grantConfig says which operations need a grant of the NFVO, and what happens while the NFVO does not answer.
type grantConfig struct {
	Operations      []vnflcm.LcmOperation  `yaml:"operations"`       // default: all but MODIFY_INFO and those of snapshots
	WhenUnreachable vnflcm.WhenUnreachable `yaml:"when_unreachable"` // wait, fail or proceed; default: wait
	Within          time.Duration          `yaml:"within"`           // default: 1h
}

// grantKinds are the operations that can need a grant (SOL003 v3.3.1 9.5.2.2) and that the VNFM has.
var grantKinds = []vnflcm.LcmOperation{vnflcm.OpInstantiate, vnflcm.OpScale, vnflcm.OpScaleToLevel, vnflcm.OpHeal, vnflcm.OpTerminate, vnflcm.OpChangeExtConn,
	vnflcm.OpOperate, "CHANGE_VNFPKG"}

// checkGrant reports the faults of the setting grant.
func (c *config) checkGrant(wrong func(is bool, setting, reason string)) {
	if c.Grant == nil {
		return
	}
	wrong(c.NFVO.URL == "", "grant", "needs nfvo")
	wrong(c.APIRoot == "", "grant", "needs api_root: requests for grants have links to the VNF and the operation")
	for i, kind := range c.Grant.Operations {
		wrong(!slices.Contains(grantKinds, kind), fmt.Sprintf("grant.operations[%d]", i), fmt.Sprintf("must be one of %v", grantKinds))
	}
	known := []vnflcm.WhenUnreachable{"", vnflcm.UnreachableWait, vnflcm.UnreachableFail, vnflcm.UnreachableProceed}
	wrong(!slices.Contains(known, c.Grant.WhenUnreachable), "grant.when_unreachable", "must be wait, fail or proceed")
	wrong(c.Grant.Within < 0, "grant.within", "must be a time such as 1h")
}

// askForGrants makes operations need a grant of the NFVO, and writes an audit record of each that begins without.
func (v *vnfm) askForGrants(c *vnflcm.Config) error {
	settings := v.config.Grant
	if settings == nil {
		return nil
	}
	audit, err := v.config.auditTo(v.log)
	if err != nil {
		return err
	}
	c.Granter = v.orchestrator
	c.Grants = vnflcm.GrantPolicy{Operations: settings.Operations, WhenUnreachable: settings.WhenUnreachable, Within: settings.Within}
	observe := c.Observe
	c.Observe = func(e vnflcm.Event) {
		if observe != nil {
			observe(e)
		}
		if e.Kind != vnflcm.GrantPassedOver || audit == nil {
			return
		}
		record := sol003.AuditRecord{Time: e.Time.UTC(), Command: "begin without a grant", Operation: e.OperationID, Outcome: sol003.OutcomeAccepted}
		if err := audit(context.Background(), record); err != nil {
			v.log.Error("an audit record could not be written", "request", record, "error", err)
		}
	}
	return nil
}
