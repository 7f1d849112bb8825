package sol003

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// snapshotResources are in version 2, and below maintenancePrefix for clients of version 1, which does not have them. SOL003 also has PATCH, for
// snapshot packages.
var snapshotResources = map[string]methods{
	"/vnf_snapshots":      {http.MethodPost: (*call).createSnapshotInfo, http.MethodGet: (*call).listSnapshots},
	"/vnf_snapshots/{id}": {http.MethodGet: (*call).readSnapshot, http.MethodDelete: (*call).deleteSnapshot},
}

// snapshotsPrefix is where the sender finds snapshots.
func (c *call) snapshotsPrefix() string {
	if c.api == nil {
		return maintenancePrefix
	}
	return c.api.prefix()
}

func (c *call) snapshotURI(id string) string {
	return c.root() + c.snapshotsPrefix() + "/vnf_snapshots/" + url.PathEscape(id)
}

// renderSnapshot returns the VnfSnapshotInfo of version 2 (SOL003 v3.3.1 5.5.2.22).
func (c *call) renderSnapshot(info *vnflcm.VnfSnapshotInfo) (object, error) {
	document, err := readObject(json.Marshal(info))
	if err != nil {
		return nil, err
	}
	links := newLinks(c.snapshotURI(info.ID))
	if s := info.VnfSnapshot; s != nil {
		of := &call{handler: c.handler, api: version2, r: c.r} // of its links
		instance, err := readObject(MarshalInstanceV2(s.VnfInstance))
		if err != nil {
			return nil, err
		}
		self := link{of.instanceURI(s.VnfInstanceID)}
		instance["_links"] = map[string]link{"self": self}
		document["vnfSnapshot"].(object)["vnfInstance"] = instance //nolint:forcetypeassert // made above
		links.list["takenFrom"] = self
	}
	document["_links"] = links.list
	return document, nil
}

func (c *call) sendSnapshot(status int, info *vnflcm.VnfSnapshotInfo) error {
	document, err := c.renderSnapshot(info)
	if err != nil {
		return err
	}
	return c.document(status, document)
}

// createSnapshotInfo answers SOL003 v3.3.1 5.4.23.3.1.
func (c *call) createSnapshotInfo() error {
	var req vnflcm.CreateVnfSnapshotInfoRequest
	if _, err := c.readBody(&req, mediaJSON); err != nil {
		return err
	}
	req.Tenant = c.who.Tenant
	info, err := c.manager.CreateSnapshotInfo(c.r.Context(), req)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", c.snapshotURI(info.ID))
	return c.sendSnapshot(http.StatusCreated, info)
}

// listSnapshots answers SOL003 v3.3.1 5.4.23.3.2.
func (c *call) listSnapshots() error {
	query, err := c.listQuery(snapshotAttributes)
	if err != nil {
		return err
	}
	list := newLister(query, c.renderSnapshot)
	var visible func(*vnflcm.VnfSnapshotInfo) bool
	if c.who.Tenant != "" {
		visible = func(info *vnflcm.VnfSnapshotInfo) bool { return c.sees(info.Tenant) }
	}
	page, err := c.manager.Snapshots(c.r.Context(), vnflcm.SnapshotQuery{Match: list.match(visible), After: query.after, Limit: c.PageSize})
	return list.answer(c, page, err)
}

// ownSnapshot returns a snapshot that the sender may use.
func (c *call) ownSnapshot(ctx context.Context, id string) (*vnflcm.VnfSnapshotInfo, error) {
	info, err := c.manager.Snapshot(ctx, id)
	if err == nil && !c.sees(info.Tenant) {
		return nil, notFound("VNF snapshot", id)
	}
	return info, err
}

// readSnapshot answers SOL003 v3.3.1 5.4.24.3.2.
func (c *call) readSnapshot() error {
	info, err := c.ownSnapshot(c.r.Context(), c.r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.sendSnapshot(http.StatusOK, info)
}

// deleteSnapshot answers SOL003 v3.3.1 5.4.24.3.5.
func (c *call) deleteSnapshot() error {
	info, err := c.ownSnapshot(c.r.Context(), c.r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := c.manager.DeleteSnapshot(c.r.Context(), info.ID); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// createSnapshot answers SOL003 v3.3.1 5.4.21.3.1. A resource of another tenant does not exist for the sender.
func (c *call) createSnapshot() error {
	return begin(func(m Manager, ctx context.Context, id string, req vnflcm.CreateVnfSnapshotRequest) (string, error) {
		if c.who.Tenant != "" && req.VnfSnapshotInfoID != "" {
			if _, err := c.ownSnapshot(ctx, req.VnfSnapshotInfoID); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
				return "", err
			} else if err != nil {
				return "", &vnflcm.ParamError{Path: "vnfSnapshotInfoId", Value: req.VnfSnapshotInfoID, Reason: "no such VNF snapshot"}
			}
		}
		return m.CreateSnapshot(ctx, id, req)
	})(c)
}
