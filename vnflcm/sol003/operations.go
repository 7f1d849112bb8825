package sol003

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// MarshalOperationV1 returns the VnfLcmOpOcc of version 1 of the API (SOL003 v2.6.1 5.5.2.13). Version 1 has no change of the VNF package: the
// operation is a MODIFY_INFO there, with the changed vnfdId in changedInfo.
func MarshalOperationV1(operation *vnflcm.VnfLcmOpOcc) ([]byte, error) {
	if operation.Operation != vnflcm.OpChangeVnfPkg {
		return json.Marshal(operation)
	}
	document, err := readObject(json.Marshal(operation))
	if err != nil {
		return nil, err
	}
	document["operation"] = OperationInV1(operation.Operation)
	if info := document["modificationsTriggeredByVnfPkgChange"]; info != nil {
		document["changedInfo"] = info
		delete(document, "modificationsTriggeredByVnfPkgChange")
	}
	return json.Marshal(document)
}

// OperationInV1 returns the kind that version 1 of the API shows for an operation.
func OperationInV1(kind vnflcm.LcmOperation) vnflcm.LcmOperation {
	if kind == vnflcm.OpChangeVnfPkg {
		return vnflcm.OpModifyInfo
	}
	return kind
}

// operationsShownAs returns the kinds of operations that the version shows under a name.
func (v *apiVersion) operationsShownAs(name vnflcm.LcmOperation) []vnflcm.LcmOperation {
	switch {
	case v == version1 && name == vnflcm.OpModifyInfo:
		return []vnflcm.LcmOperation{vnflcm.OpModifyInfo, vnflcm.OpChangeVnfPkg}
	case v == version1 && name == vnflcm.OpChangeVnfPkg, !v.has(name):
		return []vnflcm.LcmOperation{""} // no operation
	}
	return []vnflcm.LcmOperation{name}
}

// has reports whether the version shows operations of a kind. Version 1 has no word for snapshots.
func (v *apiVersion) has(kind vnflcm.LcmOperation) bool {
	return v != version1 || HasOperationV1(kind)
}

// HasOperationV1 reports whether version 1 of the API shows operations of a kind.
func HasOperationV1(kind vnflcm.LcmOperation) bool {
	return kind != vnflcm.OpCreateSnapshot && kind != vnflcm.OpRevertToSnapshot
}

func (c *call) operationURI(id string) string {
	return c.root() + c.api.prefix() + "/vnf_lcm_op_occs/" + url.PathEscape(id)
}

// renderOperation returns a document with the links to the tasks that the state of the operation allows (SOL003 v2.6.1
// 5.5.2.13).
func (c *call) renderOperation(operation *vnflcm.VnfLcmOpOcc) (object, error) {
	document, err := readObject(c.api.operation(operation))
	if err != nil {
		return nil, err
	}
	links := newLinks(c.operationURI(operation.ID))
	links.list["vnfInstance"] = link{c.instanceURI(operation.VnfInstanceID)}
	switch operation.OperationState {
	case vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack:
		links.add("cancel", "cancel")
	case vnflcm.FailedTemp:
		links.add("retry", "retry")
		links.add("fail", "fail")
		if operation.CanRollBack {
			links.add("rollback", "rollback")
		}
	}
	document["_links"] = links.list
	return document, nil
}

func (c *call) sendOperation(operation *vnflcm.VnfLcmOpOcc) error {
	document, err := c.renderOperation(operation)
	if err != nil {
		return err
	}
	c.setETag(operation.Version)
	return c.document(http.StatusOK, document)
}

// listOperations answers SOL003 v2.6.1 5.4.12.3.2.
func (c *call) listOperations() error {
	query, err := c.listQuery(operationAttributes)
	if err != nil {
		return err
	}
	q := vnflcm.OperationQuery{After: query.after, Limit: c.PageSize}
	for _, state := range query.filter.take("operationState", 0) {
		q.States = append(q.States, vnflcm.OperationState(state))
	}
	for _, kind := range query.filter.take("operation", 0) {
		q.Operations = append(q.Operations, c.api.operationsShownAs(vnflcm.LcmOperation(kind))...)
	}
	if ids := query.filter.take("vnfInstanceId", 1); ids != nil {
		q.InstanceID = ids[0]
	}
	list := newLister(query, c.renderOperation)
	q.Match = list.match(c.visibleOperations())
	page, err := c.manager.Operations(c.r.Context(), q)
	return list.answer(c, page, err)
}

// readOperation answers SOL003 v2.6.1 5.4.13.3.2.
func (c *call) readOperation() error {
	operation, err := c.ownOperation()
	if err != nil {
		return err
	}
	if c.notModified(operation.Version) {
		return nil
	}
	return c.sendOperation(operation)
}

// ownOperation returns the operation that the path names, if the sender may use it.
func (c *call) ownOperation() (*vnflcm.VnfLcmOpOcc, error) {
	id := c.r.PathValue("id")
	operation, err := c.manager.Operation(c.r.Context(), id)
	if err != nil {
		return nil, err
	}
	if !c.sees(operation.Tenant) || !c.api.has(operation.Operation) {
		return nil, notFound("operation", id)
	}
	recordOf(c.w).Operation = operation.ID
	return operation, nil
}

// control returns what answers a task of an operation without a body: SOL003 v2.6.1 5.4.14.3.1 and 5.4.15.3.1.
func control(do func(Manager, context.Context, string) error) func(*call) error {
	return func(c *call) error {
		operation, err := c.ownOperation()
		if err != nil {
			return err
		}
		if err := c.readNoBody(); err != nil {
			return err
		}
		if err := do(c.manager, c.r.Context(), operation.ID); err != nil {
			return err
		}
		c.w.WriteHeader(http.StatusAccepted)
		return nil
	}
}

// failOperation answers SOL003 v2.6.1 5.4.16.3.1.
func (c *call) failOperation() error {
	operation, err := c.ownOperation()
	if err != nil {
		return err
	}
	if err := c.readNoBody(); err != nil {
		return err
	}
	if err := c.manager.Fail(c.r.Context(), operation.ID); err != nil {
		return err
	}
	if operation, err = c.manager.Operation(c.r.Context(), operation.ID); err != nil {
		return err
	}
	return c.sendOperation(operation)
}

// cancelBody is the body of a request to cancel (SOL003 v2.6.1 5.5.2.14).
type cancelBody struct {
	CancelMode vnflcm.CancelMode `json:"cancelMode"`
}

// cancelOperation answers SOL003 v2.6.1 5.4.17.3.1.
func (c *call) cancelOperation() error {
	var req cancelBody
	if _, err := c.readBody(&req, mediaJSON); err != nil {
		return err
	}
	if !slices.Contains([]vnflcm.CancelMode{vnflcm.CancelGraceful, vnflcm.CancelForceful}, req.CancelMode) {
		return &vnflcm.ParamError{Path: "cancelMode", Reason: "must be GRACEFUL or FORCEFUL"}
	}
	return control(func(m Manager, ctx context.Context, id string) error { return m.Cancel(ctx, id, req.CancelMode) })(c)
}
