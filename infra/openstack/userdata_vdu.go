package openstack

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// capacities sets the size of groups whose size is a number in the template, makes the copies of individual resources,
// and reports VDUs for which the template cannot create the wanted number of VNFCs.
func (f *filler) capacities() {
	f.capacity = f.wanted()
	for _, g := range f.groups {
		size := f.sizeOf(g)
		if size >= 0 && len(g.Parameter) == 0 {
			if err := f.template.SetCapacity(g.Name, size); err != nil {
				f.faults = append(f.faults, err)
			}
		}
	}
	for _, vdu := range f.op.Flavour.VDUs {
		f.checkPlace(vdu.ID)
	}
}

// wanted returns the number of VNFCs that each VDU has after the operation.
func (f *filler) wanted() map[string]int {
	scaled := f.op.Kind == vnflcm.OpInstantiate || f.op.Kind == vnflcm.OpScale || f.changesPackage()
	if !scaled && len(f.op.VNFCs) > 0 {
		out := map[string]int{}
		for _, v := range f.op.VNFCs {
			out[v.VDU]++
		}
		return out
	}
	out, err := f.op.Instances()
	if err != nil {
		f.faults = append(f.faults, err)
	}
	return out
}

// sizeOf returns the number of members that a group has after the operation, or -1 if none of its servers belongs to a VDU.
func (f *filler) sizeOf(g hot.Group) int {
	size := -1
	for _, server := range g.Servers {
		vdu := f.op.Flavour.VDU(server)
		if vdu == nil {
			continue
		}
		if size >= 0 && size != f.capacity[vdu.ID] {
			f.fault("targetScaleLevelInfo", "", "the group %s (%s:%d) makes as many VNFCs of VDU %s as of its others, but %d and %d are wanted",
				g.Name, g.File, g.Line, vdu.ID, f.capacity[vdu.ID], size)
		}
		size = f.capacity[vdu.ID]
	}
	return size
}

// group returns the group that reads its size from a path of nfv, or nil.
func (f *filler) group(path []string) *hot.Group {
	if i := slices.IndexFunc(f.groups, func(g hot.Group) bool { return slices.Equal(g.Parameter, path) }); i >= 0 {
		return &f.groups[i]
	}
	return nil
}

func (f *filler) groupSize(path []string) (any, bool) {
	size := f.sizeOf(*f.group(path))
	return size, size >= 0
}

// checkPlace reports a fault if the template cannot create the wanted number of VNFCs of a VDU. It also makes the copies
// of an individual resource.
func (f *filler) checkPlace(vdu string) {
	if f.template.GroupOf(vdu) != nil {
		return
	}
	if f.individual && f.template.Resource(vdu) != nil {
		if err := f.template.Individual(vdu, f.indices(vdu)); err != nil {
			f.faults = append(f.faults, err)
		}
		return
	}
	made := 0
	for _, s := range f.template.Singles() {
		if slices.Contains(s.Servers, vdu) || s.Name == vdu {
			made++
		}
	}
	if want := f.capacity[vdu]; want != made {
		f.fault("VNFD "+vdu, "", "%d VNFCs of it are wanted, the template %s makes %d: it needs a group whose members hold a server named %s, "+
			"or the user data class StandardUserData with a resource named %s", want, f.template, made, vdu, vdu)
	}
}

// indices returns the indices that the individual VNFCs of a VDU have after the operation.
func (f *filler) indices(vdu string) []int {
	var out []int
	add := func(list []vnflcm.VNFC) {
		for _, v := range list {
			if i := indexOf(v); v.VDU == vdu && i >= 0 && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	if f.op.Kind == vnflcm.OpInstantiate {
		for i := range f.capacity[vdu] {
			out = append(out, i)
		}
		return out
	}
	add(slices.DeleteFunc(slices.Clone(f.op.VNFCs), func(v vnflcm.VNFC) bool {
		return slices.ContainsFunc(f.op.Change.Removed, func(r vnflcm.VNFC) bool { return r.ID == v.ID })
	}))
	add(f.op.Change.Added)
	slices.Sort(out)
	return out
}

// indexOf returns the index of an individual VNFC: from its resource or, before the resource exists, from the announced
// name.
func indexOf(v vnflcm.VNFC) int {
	if _, text := cutIndex(v.Name); len(v.Metadata) == 0 && text != "" {
		return numberOf(text)
	}
	return index(v)
}

func numberOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// vduValue returns the value of a leaf below nfv.VDU. The leaf belongs to a VDU or, for images, to a storage. With
// StandardUserData the name has the index of a VNFC, as in VDU1-0.
func (f *filler) vduValue(path []string) (any, bool) {
	name, index := f.baseName(path[2])
	vdu := f.op.Flavour.VDU(name)
	switch leaf := strings.Join(path[3:], "."); leaf {
	case "computeFlavourId", "flavor":
		return f.flavor(vdu, name, f.has(path))
	case "flavor.vcpus", "flavor.ram", "flavor.disk":
		return size(vdu, path[4])
	case "vcImageId", "image":
		return f.image(name, f.has(path))
	case "locationConstraints":
		return f.zone(name, index)
	case "desired_capacity":
		n, known := f.capacity[name]
		return n, known
	case "name":
		return path[2], vdu != nil
	}
	return nil, false
}

// baseName splits the name of an individual VNFC into the name of the VDU and the index. index is -1 for other names.
func (f *filler) baseName(name string) (base string, index int) {
	if base, text := cutIndex(name); f.individual && text != "" {
		return base, numberOf(text)
	}
	return name, -1
}

// changesPackage reports whether images and flavors of the current stack are those of another package.
func (f *filler) changesPackage() bool { return f.op.Kind == vnflcm.OpChangeVnfPkg }

// has reports whether the current stack has a value at a path of nfv that an update keeps. The images and flavors of another package are
// kept only if the new package names none.
func (f *filler) has(path []string) bool {
	if f.changesPackage() {
		return false
	}
	_, has := lookUp(f.current, path[1:])
	return has
}

func (f *filler) flavor(vdu *tosca.VDU, name string, has bool) (any, bool) {
	if a := f.assets(); a != nil {
		for _, known := range a.ComputeResourceFlavours {
			if known.VnfdVirtualComputeDescID == name {
				return known.VimFlavourID, true
			}
		}
	}
	if has || vdu == nil || vdu.Compute.FlavourName == "" {
		return nil, false
	}
	return vdu.Compute.FlavourName, true
}

// image returns the image of a VDU or of a storage: from the grant, the uploaded images or the VNFD.
func (f *filler) image(name string, has bool) (any, bool) {
	if granted := f.grantedImage(name); granted != "" {
		return granted, true
	}
	if has {
		return nil, false
	}
	if id := f.images[name]; id != "" {
		return id, true
	}
	image := f.declaredImage(name)
	if image == nil || image.Name == "" {
		return nil, false
	}
	return image.Name, true
}

// grantedImage returns the image of the VIM that the grant names for a VDU or a storage, or "".
func (f *filler) grantedImage(name string) string {
	if a := f.assets(); a != nil {
		for _, known := range a.SoftwareImages {
			if known.VnfdSoftwareImageID == name {
				return known.VimSoftwareImageID
			}
		}
	}
	return ""
}

// declaredImage returns the image that the VNFD has for a VDU or a storage, or nil.
func (f *filler) declaredImage(name string) *tosca.SoftwareImage {
	for _, s := range f.op.Flavour.Storages {
		if s.ID == name {
			return s.Image
		}
	}
	if vdu := f.op.Flavour.VDU(name); vdu != nil {
		return vdu.Image
	}
	return nil
}

func (f *filler) assets() *vnflcm.VimAssets {
	if f.op.Grant == nil {
		return nil
	}
	return f.op.Grant.VimAssets
}

// zone returns the zone from the grant. Without one a new VNFC gets null, which Heat takes as no zone, and an existing
// VNFC keeps its value.
func (f *filler) zone(vdu string, index int) (any, bool) {
	zones := f.op.GrantedZones(vdu)
	if index >= 0 {
		zones = f.zoneOf(vdu, index, zones)
	}
	for _, z := range zones {
		if z != "" {
			return z, true
		}
	}
	_, current := lookUp(f.current, []string{"VDU", vdu})
	return nil, f.current == nil || index >= 0 && !f.existed(vdu, index) || index < 0 && f.changesPackage() && !current
}

// zoneOf returns, as a list of one, the zone of the VNFC with the index. zones holds the zones of the added VNFCs of the
// VDU, followed by those of its replaced VNFCs.
func (f *filler) zoneOf(vdu string, index int, zones []string) []string {
	place := 0
	for _, v := range slices.Concat(f.op.Change.Added, f.op.Change.Replaced) {
		if v.VDU != vdu {
			continue
		}
		if indexOf(v) == index && place < len(zones) {
			return zones[place : place+1]
		}
		place++
	}
	return nil
}

func (f *filler) existed(vdu string, index int) bool {
	return slices.ContainsFunc(f.op.VNFCs, func(v vnflcm.VNFC) bool { return v.VDU == vdu && indexOf(v) == index })
}

// size returns the number of virtual CPUs, the memory or the disk that the VNFD requires, in the units of Nova's flavors:
// MiB for memory and GiB for disks.
func size(vdu *tosca.VDU, of string) (any, bool) {
	if vdu == nil {
		return nil, false
	}
	switch c := vdu.Compute; {
	case of == "vcpus" && c.VirtualCPUs > 0:
		return c.VirtualCPUs, true
	case of == "ram" && c.Memory > 0:
		return (c.Memory + 1<<20 - 1) >> 20, true
	case of == "disk" && len(c.LocalStorage) > 0:
		return (c.LocalStorage[0] + 1<<30 - 1) >> 30, true
	}
	return nil, false
}
