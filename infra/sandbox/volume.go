package sandbox

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// volume is a block storage of a machine's VDU. It outlives the machine when the VNFC is healed, as volumes of Heat do,
// and goes with the VNFC.
type volume struct {
	ID         string // resource id
	Descriptor string
}

// volumesOf are the volumes of a VNFC. Their ids follow from its own: whoever replaces the machine finds them again.
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
	Filesystem, UUID string // what is on the volume, such as ext4, and which one: another one after each mkfs
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

// FormatVolume has something on a volume as if somebody else had put it there: ext4, xfs, gpt (a table of partitions);
// "" empties it.
func (w *World) FormatVolume(id, filesystem string) error {
	if !w.kube.FormatVolume(id, filesystem) {
		return fmt.Errorf("sandbox: no volume %q", id)
	}
	return nil
}
