package sol003

import (
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func notFound(kind, id string) error { return fmt.Errorf("%s %s: %w", kind, id, vnflcm.ErrNotFound) }

// sees reports whether the sender may use what belongs to a tenant.
func (c *call) sees(tenant string) bool { return c.who.Tenant == "" || c.who.Tenant == tenant }

// permit refuses an instance of another tenant, as if the instance did not exist.
func (c *call) permit(instanceID string) error {
	if c.who.Tenant == "" {
		return nil
	}
	_, err := c.instance(instanceID)
	return err
}

// instance returns an instance that the sender may use.
func (c *call) instance(id string) (*vnflcm.VnfInstance, error) {
	instance, err := c.manager.Get(c.r.Context(), id)
	if err == nil && !c.sees(instance.Tenant) {
		return nil, notFound("VNF instance", id)
	}
	return instance, err
}

// visibleInstances returns which instances of a list the sender may see, nil for all.
func (c *call) visibleInstances() func(*vnflcm.VnfInstance) bool {
	if c.who.Tenant == "" {
		return nil
	}
	return func(instance *vnflcm.VnfInstance) bool { return c.sees(instance.Tenant) }
}

// visibleOperations returns which operations of a list the sender may see, nil for all.
func (c *call) visibleOperations() func(*vnflcm.VnfLcmOpOcc) bool {
	if c.who.Tenant == "" && c.api != version1 {
		return nil
	}
	return func(operation *vnflcm.VnfLcmOpOcc) bool {
		return c.sees(operation.Tenant) && c.api.has(operation.Operation)
	}
}
