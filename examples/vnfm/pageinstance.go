package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	operationsSize    = 20 // operations of a page, each with a picture
	shownCertificates = 50
)

// instanceView is what instance.html shows.
type instanceView struct {
	*vnflcm.VnfInstance
	State        string // one of rowStates
	Tenants      bool   // the client sees all tenants
	Machines     []machine
	Levels       []vnflcm.ScaleInfo
	Certificates []vnflcm.KnownCertificate // the first ones to end
	Further      int                       // certificates that the page does not show
	Fault        string                    // why certificates could not be read
	Open         []operationView           // that runs, or has failed and keeps the instance locked
	Ended        []operationView
	Pages        []link
	Unreadable   string // operations that cannot be read
}

// Busy reports whether an operation is running.
func (v instanceView) Busy() bool { return v.State == stateRunning }

// machine is a VNFC.
type machine struct {
	Name, VDU, Host, Zone, ID, Resource string

	Addresses []address
}

// address is what a connection point has.
type address struct{ CP, IP string }

// operationView is an operation with what can be done about it.
type operationView struct {
	*vnflcm.VnfLcmOpOcc
	Took    string
	Running *vnflcm.Progress // nil: it has failed or ended
	Changed []changedMachine // so far, of an operation that has not ended
	Ends    []ending
}

// changedMachine is a VNFC that an operation has changed.
type changedMachine struct {
	Name, VDU, ID, Resource string

	Change vnflcm.ChangeType
}

// ending is a command that ends a failure, or a running operation.
type ending struct{ Purpose, Command string }

func (p *pages) instance(r *http.Request, tenant string) (body []byte, media string, err error) {
	id := r.PathValue("id")
	instance, err := p.manager.Get(r.Context(), id)
	if err == nil && !sees(tenant, instance.Tenant) {
		err = fmt.Errorf("VNF instance %s: %w", id, vnflcm.ErrNotFound)
	}
	if err != nil {
		return nil, "", err
	}
	v := &instanceView{VnfInstance: instance, Tenants: tenant == ""}
	if info := instance.InstantiatedVnfInfo; info != nil {
		v.Machines, v.Levels = machinesOf(info), info.ScaleStatus
	}
	if err := p.addCertificates(r.Context(), v); err != nil {
		return nil, "", err
	}
	if err := p.addOperations(r, v); err != nil {
		return nil, "", err
	}
	return render("instance.html", v)
}

// machinesOf returns the machines in the order of VDUs and names.
func machinesOf(info *vnflcm.InstantiatedVnfInfo) (out []machine) {
	for _, v := range info.VnfcResourceInfo {
		m := machine{Name: cmp.Or(v.Name, v.ID), VDU: v.VduID, Host: v.Host, Zone: v.ZoneID, ID: v.ID, Resource: v.ComputeResource.ResourceID}
		for _, cp := range v.VnfcCpInfo {
			for _, protocol := range cp.CpProtocolInfo {
				if protocol.IPOverEthernet == nil {
					continue
				}
				for _, list := range protocol.IPOverEthernet.IPAddresses {
					for _, ip := range list.Addresses {
						m.Addresses = append(m.Addresses, address{cp.CpdID, ip})
					}
				}
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b machine) int { return cmp.Or(cmp.Compare(a.VDU, b.VDU), cmp.Compare(a.Name, b.Name)) })
	return out
}

// addCertificates adds to the page the certificates that end first, as they were last read.
func (p *pages) addCertificates(ctx context.Context, v *instanceView) error {
	status, err := p.certificates(ctx, v.ID, v.InstantiationState)
	if err != nil {
		return err
	}
	shown := min(len(status.Certificates), shownCertificates)
	v.Certificates, v.Further, v.Fault = status.Certificates[:shown], len(status.Certificates)-shown, status.Fault
	return nil
}

// addOperations adds to the page a part of the operations, the newest first.
func (p *pages) addOperations(r *http.Request, v *instanceView) error {
	list, faults, err := p.operationsOf(r.Context(), v.ID)
	if err != nil {
		return err
	}
	if faults != nil {
		v.Unreadable = firstOf(faults.Error(), 2000)
	}
	last := row{Instantiation: v.InstantiationState}
	if len(list) > 0 {
		last.Last = list[0]
	}
	v.State = last.State()
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	number, from, to := part(len(list), operationsSize, number)
	v.Pages = pageLinks(number, pagesOf(len(list), operationsSize), func(n int) string {
		return "/instances/" + url.PathEscape(v.ID) + "?page=" + strconv.Itoa(n)
	})
	for _, each := range list[from:to] {
		operation, err := p.manager.Operation(r.Context(), each.ID)
		if errors.Is(err, vnflcm.ErrNotFound) {
			continue // it was purged meanwhile
		}
		if err != nil {
			return err
		}
		shown, err := p.operationView(r, operation)
		switch {
		case err != nil:
			return err
		case operation.OperationState.Final():
			v.Ended = append(v.Ended, shown)
		default:
			v.Open = append(v.Open, shown)
		}
	}
	return nil
}

// operationsOf lists all operations of an instance, the newest first. The Manager lists the oldest first. faults names records that cannot
// be read.
func (p *pages) operationsOf(ctx context.Context, instanceID string) (list []*lastOperation, faults, err error) {
	for after := ""; ; {
		page, err := p.manager.Operations(ctx, vnflcm.OperationQuery{InstanceID: instanceID, After: after, Limit: feedPart})
		if errors.Is(err, vnflcm.ErrUnreadable) {
			faults = errors.Join(faults, err)
		} else if err != nil {
			return nil, nil, err
		}
		for _, operation := range page.Items {
			list = append(list, lastOf(operation))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b *lastOperation) int { return b.Start.Compare(a.Start) })
	return list, faults, nil
}

func (p *pages) operationView(r *http.Request, operation *vnflcm.VnfLcmOpOcc) (operationView, error) {
	v := operationView{VnfLcmOpOcc: operation, Ends: p.endings(r, operation), Took: duration(operation.StateEnteredTime.Sub(operation.StartTime))}
	if operation.OperationState.Final() {
		return v, nil
	}
	var err1, err2 error
	if operation.OperationState != vnflcm.FailedTemp {
		v.Took = duration(time.Since(operation.StartTime))
		v.Running, err1 = p.manager.Progress(r.Context(), operation.ID)
	}
	v.Changed, err2 = p.changedBy(r.Context(), operation)
	err := errors.Join(err1, err2)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil // it was purged meanwhile
	}
	return v, err
}

// changedBy returns the machines that an operation has changed so far. The instance has new machines only when the operation has ended.
func (p *pages) changedBy(ctx context.Context, operation *vnflcm.VnfLcmOpOcc) (out []changedMachine, err error) {
	if operation.ResourceChanges == nil {
		return nil, nil
	}
	history, err := p.manager.History(ctx, operation.ID)
	if errors.Is(err, vnflcm.ErrUnreadable) {
		err = nil // without the history the machines are named by their ids
	}
	names := map[string]string{}
	for _, step := range history {
		names[step.On] = cmp.Or(step.Host, names[step.On])
	}
	for _, v := range operation.ResourceChanges.AffectedVnfcs {
		out = append(out, changedMachine{cmp.Or(names[v.ID], v.ID), v.VduID, v.ID, v.ComputeResource.ResourceID, v.ChangeType})
	}
	return out, err
}

// endings returns the commands that the state of an operation allows.
func (p *pages) endings(r *http.Request, operation *vnflcm.VnfLcmOpOcc) []ending {
	command := func(task, body string) string {
		words := strings.TrimSpace("curl " + p.login)
		if body != "" {
			words += " -H 'Content-Type: application/json' -d " + shellescape.Quote(body)
		}
		return words + " -X POST " + shellescape.Quote(p.root(r)+"/vnflcm/v2/vnf_lcm_op_occs/"+operation.ID+"/"+task)
	}
	switch {
	case operation.OperationState == vnflcm.FailedTemp:
		out := []ending{{"Retry it, once the cause is removed: steps that are done are not repeated", command("retry", "")}}
		if operation.CanRollBack {
			out = append(out, ending{"Roll it back: undo what it has done", command("rollback", "")})
		}
		return append(out, ending{"Fail it: give it up and unlock the instance as it is", command("fail", "")})
	case !operation.OperationState.Final() && !operation.IsCancelPending:
		return []ending{{"Cancel it", command("cancel", `{"cancelMode": "FORCEFUL"}`)}}
	}
	return nil
}

// root is the beginning of URIs, as in the answers of the API.
func (p *pages) root(r *http.Request) string {
	switch {
	case p.apiRoot != "":
		return strings.TrimSuffix(p.apiRoot, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// RunningSteps returns the steps that the process knows.
func (v operationView) RunningSteps() []vnflcm.RunningStep {
	if v.Running == nil {
		return nil
	}
	return v.Running.Steps
}

// FurtherOutput returns failed steps whose command has printed more than the error text has.
func (v operationView) FurtherOutput() []vnflcm.StepFailure {
	if v.Error == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Error.Steps), func(s vnflcm.StepFailure) bool {
		return s.Stderr == "" || strings.Contains(v.Error.Detail, strings.TrimSpace(s.Stderr))
	})
}
