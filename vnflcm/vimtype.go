package vnflcm

import "slices"

// vimTypes has the names of each type of VIM that has several: first the name in version 1 of Tacker's API and in Tacker's registry of VIMs,
// then the names in version 2.
var vimTypes = [][]string{
	{"openstack", "ETSINFV.OPENSTACK_KEYSTONE.V_3", "ETSINFV.OPENSTACK_KEYSTONE.V_2"},
	{"kubernetes", "ETSINFV.KUBERNETES.V_1"},
}

// VIMTypeNames returns all names of a type of VIM, the one of Tacker's registry first: "openstack" and "ETSINFV.OPENSTACK_KEYSTONE.V_3" are
// one type. A type that Tacker does not have has one name. "ETSINFV.HELM.V_3" is a separate type: in a request it also means a registered
// VIM of the type kubernetes, unless its extra.use_helm is false.
func VIMTypeNames(vimType string) []string {
	for _, names := range vimTypes {
		if slices.Contains(names, vimType) {
			return slices.Clone(names)
		}
	}
	return []string{vimType}
}

// sameVIMType reports whether two names mean one type of VIM.
func sameVIMType(a, b string) bool { return slices.Contains(VIMTypeNames(a), b) }

// infra returns the driver for a type of VIM, whichever of its names the driver has in Config.Infra; nil if no driver has the type.
func (c *Config) infra(vimType string) InfraDriver {
	if driver := c.Infra[vimType]; driver != nil {
		return driver
	}
	for _, name := range VIMTypeNames(vimType) {
		if driver := c.Infra[name]; driver != nil {
			return driver
		}
	}
	return nil
}

// as returns the registered VIM under the name of its type that a request gives, and whether the request may give that name.
func (v VimConnectionInfo) as(vimType string) (VimConnectionInfo, bool) {
	if !sameVIMType(v.VimType, vimType) && (vimType != vimTypeHelm || !v.forCharts()) {
		return v, vimType == ""
	}
	v.VimType = vimType
	return v, true
}

// vimTypeHelm is the type of a VIM in requests for charts (version 2 of Tacker's API).
const vimTypeHelm = "ETSINFV.HELM.V_3"

// forCharts reports whether an entry of the type kubernetes may be named as a VIM for charts. Tacker's registry has no type for them:
// it marks the entry. A cluster that an operation has registered has no mark.
func (v VimConnectionInfo) forCharts() bool {
	var extra struct {
		UseHelm *bool `json:"use_helm"`
	}
	_, err := v.Extra.Decode(&extra)
	return err == nil && (extra.UseHelm == nil || *extra.UseHelm) && sameVIMType(v.VimType, "kubernetes")
}
