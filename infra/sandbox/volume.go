package sandbox

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// volume is a block storage of a machine's VDU. As with Heat, it outlives the machine when the VNFC is healed, and is
// deleted with the VNFC.
type volume struct {
	ID         string // resource id
	Descriptor string
}

// volumesOf returns the volumes of a VNFC. Their ids are derived from the id of the VNFC, so a replacement machine gets
// the same volumes.
func volumesOf(f *tosca.Flavour, instance string, v vnflcm.VNFC) (out []volume) {
	vdu := f.VDU(v.VDU)
	if vdu == nil {
		return nil
	}
	for _, name := range vdu.Storages {
		for _, s := range f.Storages {
			if s.ID == name && s.Kind == tosca.BlockStorage {
				out = append(out, volume{uuid.NewSHA1(uuid.NameSpaceOID, []byte(instance+"/"+v.ID+"/"+name)).String(), name})
			}
		}
	}
	return out
}

// Volume is a volume of a machine. There is one for each VirtualBlockStorage of the machine's VDU, empty at first.
type Volume struct {
	ID, Machine      string // resource ids; the machine's is empty while it is replaced
	Filesystem, UUID string // content of the volume, such as ext4, and its UUID, which each mkfs changes
	MountedAt        string
}

// Volumes returns the volumes of all machines, by id.
func (w *World) Volumes() []Volume {
	var out []Volume
	for _, v := range w.kube.Volumes() {
		out = append(out, Volume(v))
	}
	return out
}

// FormatVolume sets the content of a volume as another program would: ext4, xfs, gpt (a partition table); "" empties
// it.
func (w *World) FormatVolume(id, filesystem string) error {
	if !w.kube.FormatVolume(id, filesystem) {
		return fmt.Errorf("sandbox: no volume %q", id)
	}
	return nil
}
