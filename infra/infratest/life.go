package infratest

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// life takes two VNFs through their lives. Both grow side by side, so that each VNFC of the first has a VNFC of the second with the same
// number: a driver that finds machines by the number alone changes machines of the second VNF.
func life(t testing.TB, s Setup) {
	t.Helper()
	l := open(t, s)
	m := l.process()
	id, neighbour := l.created(m), l.created(m)
	for _, o := range l.operations() {
		before := l.of(id)
		l.busy = o.grows
		opID, err := o.begin(l, m, id)
		if o.grows {
			beside, failed := o.begin(l, m, neighbour)
			l.complete(m, o.name+" beside another VNF", beside, failed)
		}
		l.complete(m, o.name, opID, err)
		l.busy = false
		l.agree(o.name)
		l.checkKept(o, before, l.of(id))
	}
	l.must(m.Delete(t.Context(), id, ""))
	opID, err := operations[len(operations)-1].begin(l, m, neighbour)
	l.complete(m, "terminate the other VNF", opID, err)
	if diff := gocmp.Diff(l.first, l.now(t.Context())); diff != "" {
		t.Errorf("terminate: the VIM is not as before the VNFs:\n%s", diff)
	}
}

// checkKept compares the resources of VNFCs before and after an operation: only those that are healed change.
func (l *lab) checkKept(o operation, before, after []vnflcm.VNFC) {
	l.t.Helper()
	if o.name == "change package" || o.name == "start" && l.w.EndWithStop {
		return
	}
	for i, was := range before {
		k := slices.IndexFunc(after, func(v vnflcm.VNFC) bool { return v.ID == was.ID })
		if k < 0 {
			continue // the Manager compares numbers
		}
		healed := o.name == "heal all" || o.name == "heal one" && i == 0
		if same := resourceOf(was) == resourceOf(after[k]); same && healed {
			l.t.Errorf("%s: the VNFC %s has the same machine as before", o.name, was.ID)
		} else if !same && !healed {
			l.t.Errorf("%s: the VNFC %s has another machine, and the operation is not for it", o.name, was.ID)
		}
	}
}

// resourceOf identifies the machine or pod of a VNFC: pods that follow each other can have one name.
func resourceOf(v vnflcm.VNFC) string { return fmt.Sprint(v.ResourceID, " ", v.Metadata["uid"]) }
