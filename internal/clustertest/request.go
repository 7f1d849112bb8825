package clustertest

import (
	"encoding/json"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Sized asks for that flavour of a cluster with so many workers beyond the first.
func Sized(flavour string, moreWorkers int) mgmttest.Change {
	return func(r *vnflcm.InstantiateVnfRequest) {
		r.FlavourID, r.InstantiationLevelID = flavour, ""
		r.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: moreWorkers}}
	}
}

// Quoted is a text in JSON.
func Quoted(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}

// Under puts the name of a parameter before faults of its attributes.
func Under(param string, faults []string) (out []string) {
	for _, f := range faults {
		out = append(out, "additionalParams."+param+"."+f)
	}
	return out
}
