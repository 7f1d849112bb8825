package vnflcm

import (
	"cmp"
	"strings"

	"github.com/vnfkit/vnfkit/internal/bounded"
)

// maxLabel bounds the name of a machine in texts, in bytes.
const maxLabel = 100

// Label returns the short name of the machine for readers: Name or, without one, the id. A VNFC that has neither is planned, and is called
// "new" and its VDU. Control characters are replaced, and a long name is cut at 100 bytes. Events, documents, logs and pictures name
// machines so.
func (v VNFC) Label() string {
	return printable(bounded.Text(cmp.Or(v.Name, v.ID, v.ResourceID, "new "+v.VDU), maxLabel))
}

// String returns Describe without a host name.
func (v VNFC) String() string { return v.Describe("") }

// Describe returns the long name of the machine: Label and, in brackets, hostName, the address of the first connection point that has one
// and the id, as in "workerNode-0 (worker-198-18-1-51, 198.18.1.51, e3c4e5e6-...)". What is empty is left out. An error of a step names its
// machine so, once.
func (v VNFC) Describe(hostName string) string {
	label, address := v.Label(), ""
	for _, cp := range v.CPs {
		if a := cp.Address(); a.IsValid() && address == "" {
			address = a.String()
		}
	}
	var details []string
	for _, detail := range []string{hostName, address, v.ID} {
		if detail = printable(bounded.Text(detail, maxLabel)); detail != "" && detail != label {
			details = append(details, detail)
		}
	}
	if len(details) == 0 {
		return label
	}
	return label + " (" + strings.Join(details, ", ") + ")"
}

// NameHost gives the name that the host of a VNFC has for its driver, such as the name of a Kubernetes node. Errors of steps on the VNFC
// that begin later in the same phase have it in brackets (StepError.Machine).
func (op *Operation) NameHost(v VNFC, hostName string) {
	if op.steps != nil {
		op.steps.nameHost(v.ID, hostName)
	}
}

// machineOf returns the long name of a VNFC, "" if no VNFC has the id.
func (op *Operation) machineOf(id string) string {
	v, found := op.vnfc(id)
	if !found {
		return ""
	}
	return v.Describe(op.steps.hostName(id))
}

func (g *stepGuard) nameHost(vnfc, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hosts == nil {
		g.hosts = map[string]string{}
	}
	g.hosts[vnfc] = name
}

func (g *stepGuard) hostName(vnfc string) string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hosts[vnfc]
}
