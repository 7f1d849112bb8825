package sol003

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TenantManager is a Manager that remembers the tenant of each instance. The handler separates tenants with one: a
// Principal with a Tenant finds the instances of this tenant, and their operations, and no others.
//
// *vnflcm.Manager is none yet. The attributes of an instance are no place for its tenant: clients write its metadata.
type TenantManager interface {
	Manager
	// CreateFor is Create for a tenant. The tenant is stored together with the instance.
	CreateFor(ctx context.Context, tenant string, req vnflcm.CreateVnfRequest) (*vnflcm.VnfInstance, error)
	// TenantOf returns the tenant of an instance, also after its deletion: its operations stay. "": none, or unknown.
	TenantOf(ctx context.Context, instanceID string) (string, error)
}

func notFound(kind, id string) error { return fmt.Errorf("%s %s: %w", kind, id, vnflcm.ErrNotFound) }

func (c *call) create(req vnflcm.CreateVnfRequest) (*vnflcm.VnfInstance, error) {
	if c.who.Tenant != "" {
		return c.tenants.CreateFor(c.r.Context(), c.who.Tenant, req)
	}
	return c.manager.Create(c.r.Context(), req)
}

// permit refuses an instance of another tenant, as if the instance did not exist.
func (c *call) permit(instanceID string) error {
	if c.who.Tenant == "" {
		return nil
	}
	tenant, err := c.tenants.TenantOf(c.r.Context(), instanceID)
	if err == nil && tenant != c.who.Tenant {
		err = notFound("VNF instance", instanceID)
	}
	return err
}

// sees reports whether the sender may see an instance. A failure to find out is kept for the answer: a list must not lack
// items because of it.
func (c *call) sees(instanceID string) bool {
	err := c.permit(instanceID)
	if err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		c.lookup = errors.Join(c.lookup, err)
	}
	return err == nil
}

// visibleInstances returns which instances the sender may see, nil for all.
func (c *call) visibleInstances() func(*vnflcm.VnfInstance) bool {
	if c.who.Tenant == "" {
		return nil
	}
	return func(instance *vnflcm.VnfInstance) bool { return c.sees(instance.ID) }
}

// visibleOperations returns which operations the sender may see, nil for all.
func (c *call) visibleOperations() func(*vnflcm.VnfLcmOpOcc) bool {
	if c.who.Tenant == "" {
		return nil
	}
	known := map[string]bool{}
	return func(operation *vnflcm.VnfLcmOpOcc) bool {
		visible, found := known[operation.VnfInstanceID]
		if !found {
			visible = c.sees(operation.VnfInstanceID)
			known[operation.VnfInstanceID] = visible
		}
		return visible
	}
}
