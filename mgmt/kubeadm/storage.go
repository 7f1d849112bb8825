package kubeadm

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/storage"
	"github.com/vnfkit/vnfkit/mgmt/linux"
)

// storageParam is the parameter "storage_server": the machine of the VNF whose volumes the nodes mount over NFS.
type storageParam struct {
	SSHCPName string `json:"ssh_cp_name"`
	NICCPName string `json:"nic_cp_name"`
	mgmt.Login
	HostKeys mgmt.HostKeys       `json:"host_keys"` // beyond Tacker
	Volumes  []cinderVolumeParam `json:"cinder_volume_setup_params"`
	Exports  []nfsExportParam    `json:"nfs_server_setup_params"`
}

// cinderVolumeParam is a volume of the storage server.
type cinderVolumeParam struct {
	ResourceID string `json:"volume_resource_id"` // name of the resource in the template; what the VIM calls a storage descriptor
	MountTo    string `json:"mount_to"`
}

// nfsExportParam is a directory of the storage server, and the network that may mount it.
type nfsExportParam struct {
	Dir string `json:"export_dir"`
	To  string `json:"export_to"`
}

// storageRole is the prefix of the storage server's name in events and errors.
const storageRole = "storage"

func (s *storageParam) node() nodeParam {
	return nodeParam{SSHCPName: s.SSHCPName, NICCPName: s.NICCPName, Login: s.Login, HostKeys: s.HostKeys}
}

// storage checks storage_server, and the persistent volumes that the cluster gets from it.
func (c *checker) storage(p *clusterParam) {
	s := p.Storage
	if s == nil {
		if len(p.Volumes) > 0 {
			c.Fault(volumesParam, "", "has no effect without storage_server, which exports them")
		}
		return
	}
	c.node("storage_server", s.node())
	c.storageMachine(p)
	c.mounts(s.Volumes)
	c.exports(s)
	c.manifests(p)
}

// storageMachine checks that the storage server is one machine, and not a node.
func (c *checker) storageMachine(p *clusterParam) {
	const at = "storage_server.ssh_cp_name"
	cp := p.Storage.SSHCPName
	vdu := c.Op.VDUOf(cp)
	if vdu == "" {
		return // reported already
	}
	if vdu == c.Op.VDUOf(p.Master.SSHCPName) || vdu == c.Op.VDUOf(p.Worker.SSHCPName) {
		c.Fault(at, cp, "is of VDU "+vdu+", whose machines are nodes of the cluster")
		return
	}
	numbers, err := c.Op.Instances()
	if err == nil && numbers[vdu] != 1 {
		c.Fault(at, cp, fmt.Sprintf("is of VDU %s, of which there would be %d machines: there must be one", vdu, numbers[vdu]))
	}
}

func (c *checker) mounts(volumes []cinderVolumeParam) {
	names, points := map[string]int{}, map[string]int{}
	for i, v := range volumes {
		at := fmt.Sprintf("storage_server.cinder_volume_setup_params[%d]", i)
		if v.ResourceID == "" {
			c.Fault(at+".volume_resource_id", "", "is required")
		} else if first, twice := names[v.ResourceID]; twice {
			c.Fault(at+".volume_resource_id", v.ResourceID, fmt.Sprintf("is the one of cinder_volume_setup_params[%d] too", first))
		}
		names[v.ResourceID] = i
		if !c.directory(at+".mount_to", v.MountTo) {
			continue
		}
		if first, twice := points[v.MountTo]; twice {
			c.Fault(at+".mount_to", v.MountTo, fmt.Sprintf("is the one of cinder_volume_setup_params[%d] too", first))
		}
		points[v.MountTo] = i
		if len(linux.MountUnit(v.MountTo)) > maxUnitName {
			c.Fault(at+".mount_to", v.MountTo, "is too long for the name of a systemd unit, where a - takes four characters")
		}
	}
}

// exports checks the exported directories. A directory that clients can write must not contain a directory that root sets
// up here, because clients could replace that one by a link.
func (c *checker) exports(s *storageParam) {
	const list = "storage_server.nfs_server_setup_params"
	if len(s.Exports) == 0 {
		c.Fault(list, "", "is required: without it nothing is exported")
	}
	seen := map[nfsExportParam]int{}
	for i, e := range s.Exports {
		at := fmt.Sprintf("%s[%d]", list, i)
		to, ok := exportTarget(e.To)
		switch {
		case e.To == "":
			c.Fault(at+".export_to", "", "is required")
		case !ok:
			c.Fault(at+".export_to", e.To, "must be a network or an address, such as 10.10.0.0/24")
		}
		if !c.directory(at+".export_dir", e.Dir) {
			continue
		}
		if first, twice := seen[nfsExportParam{e.Dir, to}]; twice {
			c.Fault(at, "", fmt.Sprintf("is the same as nfs_server_setup_params[%d]", first))
		}
		seen[nfsExportParam{e.Dir, to}] = i
		for _, other := range s.Exports {
			if other.Dir != "" && other.Dir != e.Dir && storage.IsIn(e.Dir, other.Dir) {
				c.Fault(at+".export_dir", e.Dir, "is in "+other.Dir+", which is exported too: its clients could put something else in its place")
				break
			}
		}
		for _, v := range s.Volumes {
			if v.MountTo != e.Dir && storage.IsIn(v.MountTo, e.Dir) {
				c.Fault(at+".export_dir", e.Dir, "holds "+v.MountTo+", where a volume is mounted: its clients could put something else in its place")
			}
		}
	}
}

// pathForm excludes characters that have a meaning in exports(5), in unit files or to a shell, and names that begin with a
// dot or a hyphen.
var pathForm = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)

// systemDirectories must not be covered by a volume or exported to clients.
var systemDirectories = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/root", "/run", "/sbin",
	"/sys", "/tmp", "/usr", "/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/lib/nfs", "/var/lib/systemd", "/var/log", "/var/run", "/var/tmp"}

func (c *checker) directory(at, name string) bool {
	switch {
	case name == "":
		c.Fault(at, "", "is required")
	case !pathForm.MatchString(name):
		c.Fault(at, name, "must be an absolute path of letters, digits, _, - and ., such as /volume/nfs")
	case slices.ContainsFunc(systemDirectories, func(dir string) bool { return storage.IsIn(name, dir) || storage.IsIn(dir, name) }):
		c.Fault(at, name, "is a directory of the system, or in one, or holds one: choose another, such as /volume/nfs")
	default:
		return true
	}
	return false
}

// exportTarget returns a client in the form of exports(5), with host bits cleared. It refuses a zone, which could be any
// text.
func exportTarget(text string) (string, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked().String(), true
	}
	addr, err := netip.ParseAddr(text)
	return addr.String(), err == nil && addr.Zone() == ""
}

// maxUnitName is the longest name of a systemd unit (UNIT_NAME_MAX).
const maxUnitName = 255

// findStorage finds the storage server, if there is one.
func (e *environment) findStorage(p *parameters) (err error) {
	e.storage, err = e.storageOf(e.op, p)
	if err == nil && e.p.Storage != nil && len(e.storage) != 1 {
		err = fmt.Errorf("kubeadm: the VNF has %d machines with connection point %s of storage_server, and not one", len(e.storage), e.p.Storage.SSHCPName)
	}
	return err
}
