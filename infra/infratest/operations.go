package infratest

import (
	"maps"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// operation is one of the operations of a life.
type operation struct {
	name string
	// before are the operations that come before it in the tests that begin with this one.
	before []string
	grows  bool // the operation adds VNFCs
	begin  func(l *lab, m *vnflcm.Manager, id string) (opID string, err error)
}

// operations are all operations, in the order of a life.
var operations = []operation{
	{"instantiate", nil, true, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		r := l.s.Request
		r.VimConnectionInfo = vnflcm.VimConnections{{VimID: l.w.VIM.VimID}}
		return m.Instantiate(l.t.Context(), id, r)
	}},
	{"scale out", []string{"instantiate"}, true, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.Scale(l.t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: l.s.Aspect})
	}},
	{"heal one", []string{"instantiate"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.Heal(l.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.of(id)[0].ID}})
	}},
	{"scale in", []string{"instantiate", "scale out"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.Scale(l.t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: l.s.Aspect})
	}},
	{"heal all", []string{"instantiate"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.Heal(l.t.Context(), id, vnflcm.HealVnfRequest{})
	}},
	{"change package", []string{"instantiate", "scale out"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.ChangeVnfPkg(l.t.Context(), id, l.packageRequest())
	}},
	{"change connectivity", []string{"instantiate"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.ChangeExtConn(l.t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: l.s.Links})
	}},
	{"stop", []string{"instantiate"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.Operate(l.t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped})
	}},
	{"start", []string{"instantiate", "stop"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.Operate(l.t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted})
	}},
	{"terminate", []string{"instantiate"}, false, func(l *lab, m *vnflcm.Manager, id string) (string, error) {
		return m.Terminate(l.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	}},
}

// packageRequest changes all VNFCs of a VDU at once.
func (l *lab) packageRequest() vnflcm.ChangeCurrentVnfPkgRequest {
	l.t.Helper()
	r := l.s.Change
	r.VnfdID = l.changed
	atOnce, err := vnflcm.NewParams(map[string]int{"max_unavailable": 1000})
	l.must(err)
	r.AdditionalParams, err = atOnce.Merge(r.AdditionalParams)
	l.must(err)
	return r
}

// inParts reports whether an operation calls the driver for several parts, of which a test repeats the first one only.
func (l *lab) inParts(o operation, m *vnflcm.Manager, id string) bool {
	l.t.Helper()
	if o.name != "change package" {
		return false
	}
	p, err := m.Preview(l.t.Context(), id, l.packageRequest())
	l.must(err)
	return len(p.Package.Batches) > 1
}

// operations are those that the setup allows.
func (l *lab) operations() []operation {
	return slices.DeleteFunc(slices.Clone(operations), func(o operation) bool {
		switch o.name {
		case "scale out", "scale in":
			return l.s.Aspect == ""
		case "change package":
			return l.changed == ""
		case "change connectivity":
			return len(l.s.Links) == 0
		case "stop", "start":
			_, able := l.w.Driver().(vnflcm.Operator)
			return !able
		}
		return false
	})
}

// prepare makes the instance that an operation begins with.
func (l *lab) prepare(o operation) (id string) {
	l.t.Helper()
	m := l.process()
	id = l.created(m)
	for _, other := range operations {
		if slices.Contains(o.before, other.name) && (other.name != "scale out" || l.s.Aspect != "") {
			opID, err := other.begin(l, m, id)
			l.complete(m, other.name, opID, err)
		}
	}
	l.must(m.Close(l.t.Context()))
	return id
}

// outcome is the end of an operation, in terms that are the same in every run.
type outcome struct {
	State            vnflcm.InstantiationState
	VNFCs            map[string]int // by VDU
	Machines, Others int            // on the VIM
}

func (l *lab) outcome(m *vnflcm.Manager, id string) outcome {
	l.t.Helper()
	inst, err := m.Get(l.t.Context(), id)
	l.must(err)
	now := l.now(l.t.Context())
	out := outcome{State: inst.InstantiationState, VNFCs: map[string]int{}, Machines: len(now.Machines), Others: len(now.Others)}
	for _, v := range l.of(id) {
		out.VNFCs[v.VDU]++
	}
	maps.DeleteFunc(out.VNFCs, func(_ string, n int) bool { return n == 0 })
	return out
}
