package mgmttest

import (
	"context"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Created makes an instance of the package.
func (l *Lab) Created() string {
	l.t.Helper()
	vnfdID, err := opened.VNFDID(l.t.Context(), tosca.File(l.Package))
	check(l.t, err)
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	check(l.t, err)
	return inst.ID
}

// Onboard makes another package known, a folder or a CSAR file, and returns the id of its VNFD. Instances change to it.
func (l *Lab) Onboard(pkg string) (vnfdID string) {
	l.t.Helper()
	vnfdID, err := opened.VNFDID(l.t.Context(), tosca.File(pkg))
	check(l.t, err)
	l.other.Store(vnfdID, pkg)
	return vnfdID
}

// Begin makes an instance and begins to instantiate it by a sample request.
func (l *Lab) Begin(request string, changes ...Change) (id, opID string, err error) {
	l.t.Helper()
	id = l.Created()
	opID, err = l.Instantiate(l.t.Context(), id, l.Request(request, changes...))
	return id, opID, err
}

// Instantiated makes an instance and instantiates it by a sample request.
func (l *Lab) Instantiated(request string, changes ...Change) string {
	l.t.Helper()
	id, opID, err := l.Begin(request, changes...)
	l.Must(opID, err)
	return id
}

// End waits for an operation that was begun, in the first process or in that one.
func (l *Lab) End(opID string, err error, in ...*vnflcm.Manager) (*vnflcm.VnfLcmOpOcc, error) {
	l.t.Helper()
	check(l.t, err)
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Minute)
	defer cancel()
	defer l.checkArguments()
	return l.in(in).Wait(ctx, opID)
}

func (l *Lab) in(managers []*vnflcm.Manager) *vnflcm.Manager { return append(managers, l.Manager)[0] }

// Must waits for an operation that must succeed. If it fails, the test prints its steps, and the warnings and errors of the log.
func (l *Lab) Must(opID string, err error, in ...*vnflcm.Manager) {
	l.t.Helper()
	if _, err := l.End(opID, err, in...); err != nil {
		l.t.Fatalf("operation: %v\n%s", err, l.story())
	}
}

// Fails waits for an operation that must end in FAILED_TEMP, and returns why.
func (l *Lab) Fails(opID string, err error, in ...*vnflcm.Manager) error {
	l.t.Helper()
	occ, err := l.End(opID, err, in...)
	if err == nil || occ == nil || occ.OperationState != vnflcm.FailedTemp {
		l.t.Fatalf("it should be FAILED_TEMP, and is %s: %v\n%s", stateOf(occ), err, l.story())
	}
	return err
}

// RollBack undoes an operation that has failed.
func (l *Lab) RollBack(opID string, in ...*vnflcm.Manager) {
	l.t.Helper()
	occ, err := l.End(opID, l.in(in).Rollback(l.t.Context(), opID), in...)
	if occ == nil || occ.OperationState != vnflcm.RolledBack {
		l.t.Fatalf("it should be ROLLED_BACK, and is %s: %v\n%s", stateOf(occ), err, l.story())
	}
}

func stateOf(occ *vnflcm.VnfLcmOpOcc) vnflcm.OperationState {
	if occ == nil {
		return "unknown"
	}
	return occ.OperationState
}

// VNFCs returns the VNFCs of an instance.
func (l *Lab) VNFCs(id string) []vnflcm.VnfcResourceInfo {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), id)
	check(l.t, err)
	return inst.InstantiatedVnfInfo.VnfcResourceInfo
}

// Adopted makes a VNF with one Manager, and a second Manager with an empty store adopts it: the drivers' records are
// lost. It returns the id of the instance.
func (l *Lab) Adopted(request string, changes ...Change) string {
	l.t.Helper()
	id := l.Instantiated(request, changes...)
	known, err := l.Get(l.t.Context(), id)
	check(l.t, err)
	l.Store = store.NewMemory()
	l.Manager = l.Process()
	check(l.t, l.registerVIM())
	_, err = l.Adopt(l.t.Context(), *known, l.Request(request, changes...), "")
	check(l.t, err)
	return id
}
