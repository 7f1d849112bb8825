package tosca

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
)

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
			b := b.at(n)
			data, each := b.topo.property(n, kind.data), b.topo.property(n, "per_vnfc_instance")
			b.Storages = append(b.Storages, Storage{
				ID:          n.id,
				Kind:        kind.kind,
				Size:        b.bytes(data.Get(kind.amount)),
				Shared:      each != nil && !isFunction(each) && !b.boolean(each),
				RDMA:        b.boolean(data.Get("rdma_enabled")),
				Protocol:    b.text(data.Get("file_system_protocol")),
				VirtualLink: b.target(n, "virtual_link"),
				Image:       b.image(n),
				Artifacts:   b.artifacts(n),
				Pos:         n.pos,
			})
		}
	}
	sortByID(b.Storages, func(s Storage) string { return s.ID })
}

// image reads the software image of a VDU, a storage or a container: sw_image_data and the file of the SwImage artifact. Before
// SOL001 v2.5.1 and since v3.6.1, the data are properties of the artifact.
func (b *flavourBuilder) image(n template) *SoftwareImage {
	data := b.topo.property(n, "sw_image_data")
	var file, key string
	pos := data.At()
	for _, f := range b.topo.inherited(n, "artifacts") {
		if !b.topo.types.Is(grammar.ArtifactTypes, f.Value.Get("type").Str(), typeSwImage) {
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
		Provider:          b.text(data.Get("provider")),
		ContainerFormat:   strings.ToLower(b.text(data.Get("container_format"))),
		DiskFormat:        strings.ToLower(b.text(data.Get("disk_format"))),
		MinDisk:           b.bytes(data.Get("min_disk")),
		MinRAM:            b.bytes(data.Get("min_ram")),
		Size:              b.bytes(data.Get("size")),
		OperatingSystem:   b.text(data.Get("operating_system")),
		Virtualisation:    b.texts(data.Get("supported_virtualisation_environments")),
		File:              file,
		Pos:               pos,
		ChecksumAlgorithm: strings.ToLower(b.text(b.path(data, "checksum", "algorithm"))),
		Checksum:          b.text(b.path(data, "checksum", "hash")),
	}
	if sum := b.path(data, "checksum"); sum.Str() != "" {
		image.Checksum = sum.Str() // older packages have only the digest
	}
	if image.Name == "" {
		image.Name = key
	}
	return image
}
