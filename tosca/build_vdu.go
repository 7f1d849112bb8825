package tosca

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func (b *flavourBuilder) buildVDUs() {
	for _, n := range b.topo.of(typeVDU) {
		b.VDUs = append(b.VDUs, b.vdu(n))
	}
}

func (b *flavourBuilder) vdu(n template) VDU {
	profile := b.topo.eval(b.topo.property(n, "vdu_profile"))
	v := VDU{
		ID:          n.id,
		Name:        b.text(b.topo.property(n, "name")),
		Description: b.text(b.topo.property(n, "description")),
		Min:         b.count(profile.Get("min_number_of_instances"), 0),
		Max:         b.count(profile.Get("max_number_of_instances"), -1),
		Compute:     b.compute(n),
		Artifacts:   b.artifacts(n),
		Pos:         n.pos,
	}
	if v.Max >= 0 && v.Max < v.Min {
		b.report.Errorf(profile.Pos, problem.OutsideProfile, "the VDU %s has a maximum of %d instances below its minimum of %d", n.id, v.Max, v.Min)
	}
	v.Initial = v.Min
	v.Image = b.image(n)
	for _, r := range b.topo.requirements(n) {
		if r.name == "virtual_storage" && b.exists(r.target, r.pos) {
			v.Storages = append(v.Storages, r.target)
		}
	}
	return v
}

// compute reads the virtual_compute capability, whose properties stand under
// "properties" or, in older packages, directly in it.
func (b *flavourBuilder) compute(n template) Compute {
	c := n.node.Path("capabilities", "virtual_compute")
	if properties := c.Get("properties"); properties != nil {
		c = properties
	}
	result := Compute{
		VirtualCPUs: b.count(c.Path("virtual_cpu", "num_virtual_cpu"), 0),
		Memory:      b.bytes(c.Path("virtual_memory", "virtual_mem_size")),
	}
	for _, disk := range c.Get("virtual_local_storage").List() {
		result.LocalStorage = append(result.LocalStorage, b.bytes(disk.Get("size_of_storage")))
	}
	for _, f := range c.Get("requested_additional_capabilities").Map() {
		if name := b.text(f.Value.Get("requested_additional_capability_name")); name != "" {
			result.FlavourName = name
			break
		}
	}
	return result
}

// image reads what a VDU or a storage is filled with: sw_image_data and the file
// of its SwImage artifact. Packages of before SOL001 v2.5.1 put the data into the
// artifact's properties.
func (b *flavourBuilder) image(n template) *SoftwareImage {
	data := b.topo.property(n, "sw_image_data")
	var file, key string
	pos := data.At()
	for _, f := range n.node.Get("artifacts").Named() {
		kind := f.Value.Get("type").Str()
		if !b.topo.types.Is(grammar.ArtifactTypes, kind, typeSwImage) {
			continue
		}
		file, key = b.text(f.Value.Get("file")), f.Key
		if data == nil {
			data, pos = f.Value.Get("properties"), f.Pos
		}
		break
	}
	if data == nil && key == "" {
		return nil
	}
	image := &SoftwareImage{
		Name:              b.text(data.Get("name")),
		Version:           b.text(data.Get("version")),
		ContainerFormat:   strings.ToLower(b.text(data.Get("container_format"))),
		DiskFormat:        strings.ToLower(b.text(data.Get("disk_format"))),
		MinDisk:           b.bytes(data.Get("min_disk")),
		MinRAM:            b.bytes(data.Get("min_ram")),
		Size:              b.bytes(data.Get("size")),
		File:              file,
		Pos:               pos,
		ChecksumAlgorithm: strings.ToLower(b.text(data.Path("checksum", "algorithm"))),
		Checksum:          b.text(data.Path("checksum", "hash")),
	}
	if sum := data.Get("checksum"); sum.Str() != "" {
		image.Checksum = sum.Str() // the digest alone, as in older packages
	}
	if image.Name == "" {
		image.Name = key
	}
	return image
}

// artifacts reads the artifacts of a template by their keys, nil when it has
// none.
func (b *flavourBuilder) artifacts(n template) map[string]Artifact {
	var found map[string]Artifact
	for _, f := range n.node.Get("artifacts").Named() {
		a := Artifact{
			Type:        b.text(f.Value.Get("type")),
			File:        b.text(f.Value.Get("file")),
			Description: b.text(f.Value.Get("description")),
			Pos:         f.Pos,
		}
		if short := f.Value.Str(); short != "" {
			a.File = short
		}
		if found == nil {
			found = map[string]Artifact{}
		}
		found[f.Key] = a
	}
	return found
}

func (b *flavourBuilder) buildStorages() {
	for _, kind := range []struct {
		kind               StorageKind
		base, data, amount string
	}{
		{BlockStorage, typeBlockStorage, "virtual_block_storage_data", "size_of_storage"},
		{ObjectStorage, typeObjectStorage, "virtual_object_storage_data", "max_size_of_storage"},
		{FileStorage, typeFileStorage, "virtual_file_storage_data", "size_of_storage"},
	} {
		for _, n := range b.topo.of(kind.base) {
			b.Storages = append(b.Storages, Storage{
				ID:    n.id,
				Kind:  kind.kind,
				Size:  b.bytes(b.topo.property(n, kind.data).Get(kind.amount)),
				Image: b.image(n),
				Pos:   n.pos,
			})
		}
	}
	sortByID(b.Storages, func(s Storage) string { return s.ID })
}

// exists reports a problem when a name is no node template of the flavour.
func (b *flavourBuilder) exists(name string, pos problem.Position) bool {
	if _, ok := b.topo.byID[name]; !ok {
		b.report.Errorf(pos, problem.UnknownNode, "there is no node template %q", name)
		return false
	}
	return true
}
