package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// newVNFD is the VNFD of the second version of the toy package. It has the VDU proxy in addition, and a hook at the end of the change.
const newVNFD = "c2cc1df8-fcdb-4fb8-86fe-5951e81b2288"

const proxyVDU = `    proxy:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: proxy, description: proxy, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}}
    proxy_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: proxy]
`

const changeHook = "          change_current_package_end: {implementation: cluster}\n"

// newToyFS returns the second version of the toy package with the flavour plain, after replacements in its two files.
func newToyFS(oldnew ...string) fstest.MapFS {
	files := toyFS("cluster", "plain")
	replace := func(name string, oldnew ...string) {
		file := files["Definitions/"+name+".yaml"]
		file.Data = []byte(strings.NewReplacer(oldnew...).Replace(string(file.Data)))
	}
	const types = "https://forge.etsi.org/rep/nfv/SOL001/raw/v3.3.1/etsi_nfv_sol001_vnfd_types.yaml"
	replace("plain", "topology_template:\n", "imports: ["+types+"]\ntopology_template:\n")
	replace("top", "imports: [", "imports: ["+types+", ")
	replace("plain", "    worker_cp:\n", proxyVDU+"    worker_cp:\n", vnflcmInterface, vnflcmInterface+changeHook)
	replace("top", toyVNFD, newVNFD, "'1.2'", "'2.0'")
	replace("plain", oldnew...)
	replace("top", oldnew...)
	return files
}

// twoPackages returns Packages with the old and the new version.
func twoPackages(old, changed fstest.MapFS) vnflcm.Packages {
	return vnflcm.PackagesFunc(func(_ context.Context, _, vnfdID string) (tosca.Source, error) {
		switch vnfdID {
		case toyVNFD:
			return tosca.FS(old), nil
		case newVNFD:
			return tosca.FS(changed), nil
		}
		return tosca.Source{}, vnflcm.ErrNotFound
	})
}

var parsedVersions = sync.OnceValue(func() vnflcm.Packages { return twoPackages(toyFS("cluster", "plain"), newToyFS()) })

// bothVersions configures the two versions of the toy package.
func bothVersions(cfg *vnflcm.Config) { cfg.Packages = parsedVersions() }

// ranBy is the VNFD by which a machine of the world runs.
func ranBy(v vnflcm.VNFC) string {
	if by := v.Metadata["by"]; by != "" {
		return by
	}
	return toyVNFD
}

// PlanPackage implements vnflcm.PackageChanger: every machine changes, and the numbers of VNFCs become those of the new package.
func (c *cloud) PlanPackage(_ context.Context, op *vnflcm.Operation) (plan vnflcm.PackagePlan, err error) {
	want, err := op.Instances()
	if err != nil {
		return plan, err
	}
	have := map[string]int{}
	for _, v := range op.VNFCs {
		vdu := op.Successor(tosca.MappedVDU, v.VDU)
		have[vdu]++
		u := vnflcm.PackageUnit{ID: v.ID, Kind: vnflcm.UnitVNFC, Name: v.Name, VDUs: []string{vdu}, Change: vnflcm.VnfcModified, Method: vnflcm.MethodInPlace}
		switch {
		case have[vdu] > want[vdu]:
			u.Change, u.VDUs = vnflcm.VnfcRemoved, []string{v.VDU}
		case op.VersionOf(v).Package == op.Package:
			continue
		}
		u.Details = []vnflcm.UnitDetail{{Name: "software", Change: vnflcm.VnfcModified, From: op.Former.Package.VNFD().SoftwareVersion, To: op.Package.VNFD().SoftwareVersion}}
		plan.Units = append(plan.Units, u)
	}
	for _, vdu := range slices.Sorted(maps.Keys(want)) {
		for i := have[vdu]; i < want[vdu]; i++ {
			plan.Units = append(plan.Units, vnflcm.PackageUnit{ID: fmt.Sprintf("%s-%d", vdu, i), Kind: vnflcm.UnitVNFC, Name: fmt.Sprintf("%s%d", vdu, i), VDUs: []string{vdu}, Change: vnflcm.VnfcAdded})
		}
	}
	return plan, c.planFault
}

// ChangePackage implements vnflcm.PackageChanger.
func (c *cloud) ChangePackage(ctx context.Context, op *vnflcm.Operation) error {
	vnfd := op.Package.VNFD().ID
	if op.Batch == nil {
		return c.step(ctx, op, "define", "", func() bool { return c.defined[op.InstanceID] == vnfd }, func() { c.defined[op.InstanceID] = vnfd })
	}
	return vnflcm.Each(ctx, 0, op.Batch.Units, func(ctx context.Context, u vnflcm.PackageUnit) error {
		op.Declare(u.ID)
		return c.step(ctx, op, "change", u.ID, func() bool { return c.isChanged(op, u) }, func() { c.changeUnit(op, u) })
	})
}

func (c *cloud) isChanged(op *vnflcm.Operation, u vnflcm.PackageUnit) bool {
	v, exists := c.find(op.InstanceID, u.ID)
	if u.Change == vnflcm.VnfcRemoved {
		return !exists
	}
	return exists && ranBy(v) == op.Package.VNFD().ID
}

func (c *cloud) changeUnit(op *vnflcm.Operation, u vnflcm.PackageUnit) {
	list := c.machines[op.InstanceID]
	i := slices.IndexFunc(list, func(v vnflcm.VNFC) bool { return v.ID == u.ID })
	switch {
	case u.Change == vnflcm.VnfcRemoved && i >= 0:
		c.machines[op.InstanceID] = slices.Delete(list, i, i+1)
		return
	case u.Change == vnflcm.VnfcAdded && i < 0:
		list = append(list, vnflcm.VNFC{ID: u.ID, Name: u.Name, ResourceID: "vm-" + u.ID + "-0"})
		i = len(list) - 1
		c.machines[op.InstanceID] = list
	}
	if list[i].VDU, list[i].Metadata = u.VDUs[0], nil; op.Package.VNFD().ID != toyVNFD {
		list[i].Metadata = map[string]string{"by": op.Package.VNFD().ID}
	}
	if op.RollingBack {
		list[i].VDU = op.Successor(tosca.MappedVDU, u.VDUs[0])
	}
}

// UnitChanged implements vnflcm.PackageChanger.
func (c *cloud) UnitChanged(_ context.Context, op *vnflcm.Operation, u vnflcm.PackageUnit) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isChanged(op, u), nil
}

// CheckHealth implements vnflcm.HealthChecker.
func (c *cloud) CheckHealth(_ context.Context, op *vnflcm.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range op.Batch.Units {
		if reason := c.sick[u.ID]; reason != "" && !op.RollingBack {
			return errors.New(u.ID + ": " + reason)
		}
	}
	return nil
}

// ArrangeUnits implements vnflcm.PackageBatcher: workers come before masters, which change one at a time.
func (d *cluster) ArrangeUnits(_ context.Context, _ *vnflcm.Operation, plan vnflcm.PackagePlan) (vnflcm.PackagePlan, error) {
	units := slices.Clone(plan.Units)
	isMaster := func(u vnflcm.PackageUnit) int {
		if u.VDUs[0] == "master" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(units, func(a, b vnflcm.PackageUnit) int { return isMaster(a) - isMaster(b) })
	for i := range units {
		units[i].Alone = isMaster(units[i]) == 1
	}
	plan.Units = units
	return plan, nil
}

// BeforeBatch implements vnflcm.PackageBatcher.
func (d *cluster) BeforeBatch(ctx context.Context, op *vnflcm.Operation) error {
	return d.leave(ctx, op, slices.Concat(op.Change.Removed, op.Change.Replaced))
}

// AfterBatch implements vnflcm.PackageBatcher.
func (d *cluster) AfterBatch(ctx context.Context, op *vnflcm.Operation) error {
	var now []vnflcm.VNFC
	for _, u := range op.Batch.Units {
		if i := slices.IndexFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return v.ID == u.ID }); i >= 0 {
			now = append(now, op.VNFCs[i])
		}
	}
	return d.join(ctx, op, now)
}
