package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Plan implements vnflcm.InfraDriver.
func (w *World) Plan(_ context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	switch {
	case op.Heal != nil:
		return vnflcm.Change{Replaced: op.HealTargets()}, nil
	case op.Terminate != nil:
		return vnflcm.Change{Removed: op.VNFCs}, nil
	}
	want, err := op.Instances()
	if err != nil {
		return vnflcm.Change{}, err
	}
	var change vnflcm.Change
	for _, vdu := range op.Flavour.VDUs {
		have := slices.DeleteFunc(slices.Clone(op.VNFCs), func(v vnflcm.VNFC) bool { return v.VDU != vdu.ID })
		if n := len(have) - want[vdu.ID]; n > 0 {
			change.Removed = append(change.Removed, w.newest(have)[:n]...)
		}
		change.Added = append(change.Added, announce(op, vdu.ID, have, want[vdu.ID]-len(have))...)
	}
	return change, nil
}

// newest sorts VNFCs, the newest first.
func (w *World) newest(vnfcs []vnflcm.VNFC) []vnflcm.VNFC {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(vnfcs, func(a, b vnflcm.VNFC) int {
		return cmp.Compare(w.serialOf(b.ResourceID), w.serialOf(a.ResourceID))
	})
	return vnfcs
}

func (w *World) serialOf(id string) int {
	if m := w.machines[id]; m != nil {
		return m.Serial
	}
	return 0
}

// announce names n new VNFCs of a VDU: the ids follow from the operation, so that a repeated call makes the
// same ones.
func announce(op *vnflcm.Operation, vdu string, have []vnflcm.VNFC, n int) []vnflcm.VNFC {
	var out []vnflcm.VNFC
	for index := 0; len(out) < n; index++ {
		name := fmt.Sprintf("%s-%d", vdu, index)
		if slices.ContainsFunc(have, func(v vnflcm.VNFC) bool { return v.Name == name }) {
			continue
		}
		out = append(out, vnflcm.VNFC{ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(op.ID+"/"+name)).String(),
			VDU: vdu, Name: name, Aspect: firstOf(op.Flavour.AspectsOf(vdu))})
	}
	return out
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// Instantiate implements vnflcm.InfraDriver.
func (w *World) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	if err := w.giveVirtual(op.InstanceID); err != nil {
		return err
	}
	return w.create(ctx, op, op.Change.Added)
}

// giveVirtual gives an instance the addresses that its machines may share: the lowest free ones of
// 198.18.254.0/24, where no machine is.
func (w *World) giveVirtual(instance string) error {
	w.mu.Lock()
	for _, name := range w.config.Virtual {
		if !slices.ContainsFunc(w.virtual[instance], func(p port) bool { return p.CPD == name }) {
			w.virtual[instance] = append(w.virtual[instance], port{CPD: name, Address: w.freeVirtual()})
			for _, floating := range w.floatingOf(name) {
				w.virtual[instance] = append(w.virtual[instance], port{CPD: floating, Address: w.freeVirtual(), Of: name})
			}
		}
	}
	w.mu.Unlock()
	return w.save()
}

func (w *World) freeVirtual() netip.Addr {
	taken := map[netip.Addr]bool{}
	for _, ports := range w.virtual {
		for _, p := range ports {
			taken[p.Address] = true
		}
	}
	addr := netip.AddrFrom4([4]byte{198, 18, 254, 1})
	for taken[addr] {
		addr = addr.Next()
	}
	return addr
}

// Scale implements vnflcm.InfraDriver.
func (w *World) Scale(ctx context.Context, op *vnflcm.Operation) error {
	return errors.Join(w.create(ctx, op, op.Change.Added), w.remove(ctx, op, op.Change.Removed))
}

// Heal implements vnflcm.InfraDriver: each VNFC gets a new machine under its old name and address.
func (w *World) Heal(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Each(ctx, 0, op.Change.Replaced, func(ctx context.Context, v vnflcm.VNFC) error {
		return vnflcm.Do(ctx, op, "replace-vm", v.ID, func(context.Context) error {
			version := op.VersionOf(v)
			m := &machine{VNFC: v.ID, Instance: op.InstanceID, VDU: v.VDU, Name: v.Name, Serial: w.nextSerial(),
				Volumes: volumesOf(version.Flavour, op.InstanceID, v), VNFD: version.Package.VNFD().ID}
			for _, cp := range v.CPs {
				if of := w.config.Floating[cp.CPD]; of != "" {
					m.Floating = append(m.Floating, port{CPD: cp.CPD, Address: cp.Floating, Of: of})
				} else {
					m.CPs = append(m.CPs, port{CPD: cp.CPD, Address: cp.Fixed[0]})
				}
			}
			if old := w.of(op.InstanceID, v.ID); old != nil {
				if old.ID != v.ResourceID {
					return nil // replaced before
				}
				w.reserve(m) // no other machine takes the address meanwhile
				defer w.release([]*machine{m})
				if err := w.drop(old); err != nil {
					return err
				}
			}
			return w.add(m)
		})
	})
}

// Terminate implements vnflcm.InfraDriver.
func (w *World) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	resources, err := w.Resources(ctx, op)
	if err != nil {
		return err
	}
	if err := w.remove(ctx, op, resources.VNFCs); err != nil {
		return err
	}
	w.mu.Lock()
	delete(w.virtual, op.InstanceID)
	w.mu.Unlock()
	return w.save()
}

func (w *World) create(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	machines, err := w.design(op, vnfcs)
	if err != nil {
		return err
	}
	defer w.release(machines)
	return vnflcm.Each(ctx, 0, machines, func(ctx context.Context, m *machine) error {
		return vnflcm.Do(ctx, op, "create-vm", m.VNFC, func(context.Context) error {
			if w.of(op.InstanceID, m.VNFC) != nil {
				return nil // made before
			}
			return w.add(m)
		})
	})
}

// design gives the machines their order and their addresses before they are made side by side, so that the
// same request gives the same world. release gives unused addresses back.
func (w *World) design(op *vnflcm.Operation, vnfcs []vnflcm.VNFC) ([]*machine, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var machines []*machine
	for _, v := range vnfcs {
		w.serial++
		m := &machine{VNFC: v.ID, Instance: op.InstanceID, VDU: v.VDU, Name: v.Name, Serial: w.serial, Volumes: volumesOf(op.Flavour, op.InstanceID, v),
			VNFD: op.Package.VNFD().ID}
		for _, cp := range cpsOf(op.Flavour, v.VDU) {
			addr := w.freeAddress()
			w.reserved[addr] = true
			m.CPs = append(m.CPs, port{CPD: cp.ID, Address: addr})
		}
		for _, name := range slices.Sorted(maps.Keys(w.config.Floating)) {
			if of := w.config.Floating[name]; slices.ContainsFunc(m.CPs, func(cp port) bool { return cp.CPD == of }) {
				addr := w.freeAddress()
				w.reserved[addr] = true
				m.Floating = append(m.Floating, port{CPD: name, Address: addr, Of: of})
			}
		}
		if len(m.CPs) == 0 {
			return nil, fmt.Errorf("sandbox: VDU %s has no connection point", v.VDU)
		}
		machines = append(machines, m)
	}
	return machines, nil
}

func (w *World) reserve(m *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cp := range m.ports() {
		w.reserved[cp.Address] = true
	}
}

func (w *World) release(machines []*machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range machines {
		for _, cp := range m.ports() {
			delete(w.reserved, cp.Address)
		}
	}
}

// ConnectionPoints implements vnflcm.ConnectionPointNamer: it returns Config.Floating.
func (w *World) ConnectionPoints(*vnflcm.Operation) (map[string]string, error) {
	return w.config.Floating, nil
}

// floatingOf are the names in Config.Floating for the floating addresses of a connection point.
func (w *World) floatingOf(cpd string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(w.config.Floating)) {
		if w.config.Floating[name] == cpd {
			names = append(names, name)
		}
	}
	return names
}

func cpsOf(f *tosca.Flavour, vdu string) []tosca.ConnectionPoint {
	var out []tosca.ConnectionPoint
	for _, cp := range f.CPs {
		if cp.VDU == vdu {
			out = append(out, cp)
		}
	}
	return out
}

func (w *World) remove(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	return vnflcm.Each(ctx, 0, vnfcs, func(ctx context.Context, v vnflcm.VNFC) error {
		return vnflcm.Do(ctx, op, "delete-vm", v.ID, func(context.Context) error {
			m := w.of(op.InstanceID, v.ID)
			if m == nil {
				return nil
			}
			for _, volume := range m.Volumes {
				w.kube.RemoveVolume(volume.ID)
			}
			return w.drop(m)
		})
	})
}

// add gives a machine its identity, unless it is rebuilt and has one, and starts it.
func (w *World) add(m *machine) error {
	w.mu.Lock()
	m.ID = cmp.Or(m.ID, uuid.NewString())
	w.machines[m.ID] = m // before it runs: its address is taken
	w.mu.Unlock()
	if err := w.start(m); err != nil {
		w.mu.Lock()
		delete(w.machines, m.ID)
		w.mu.Unlock()
		return err
	}
	if w.config.Boot > 0 {
		m.host.Refuse(true)
		w.mu.Lock()
		m.booting = true
		w.mu.Unlock()
		time.AfterFunc(w.config.Boot, func() { w.booted(m) })
	}
	if err := writeImage(m.host.FS()); err != nil {
		return errors.Join(err, w.drop(m))
	}
	for _, volume := range m.Volumes {
		if err := w.kube.AttachVolume(volume.ID, m.ID); err != nil {
			return errors.Join(err, w.drop(m))
		}
	}
	w.mu.Lock()
	m.made = true
	w.mu.Unlock()
	return w.save()
}

// booted makes a machine accept connections, unless it was stopped meanwhile.
func (w *World) booted(m *machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m.booting = false
	m.host.Refuse(m.Stopped)
}

// image has the files of a new machine: its system, its kernel, and the source of Kubernetes packages.
var image = map[string]string{
	"/proc/meminfo":                           "MemTotal:        4014788 kB\nMemFree:         2014788 kB\n",
	"/etc/os-release":                         "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n",
	"/proc/1/status":                          "Name:\tsystemd\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n",
	"/proc/filesystems":                       "nodev\tproc\n\text4\n",
	"/sys/class/net/eth0/mtu":                 "1500\n",
	"/etc/apt/sources.list.d/kubernetes.list": "deb [signed-by=/etc/apt/keyrings/kubernetes.gpg] https://packages.example.org/ /\n",
}

func writeImage(files afero.Fs) error {
	for name, content := range image {
		if err := files.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := afero.WriteFile(files, name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return files.MkdirAll("/proc/sys/net/ipv6", 0o755)
}

// drop deletes a machine with all that is on it.
func (w *World) drop(m *machine) error {
	err := m.host.Close()
	w.kube.Remove(m.ID) // first: its volumes take their files from the machine, and a world saved now has both
	w.mu.Lock()
	delete(w.machines, m.ID)
	w.mu.Unlock()
	if w.config.Dir != "" {
		err = errors.Join(err, os.RemoveAll(filepath.Join(w.config.Dir, "hosts", m.ID)))
	}
	return errors.Join(err, w.save())
}

// freeAddress returns the lowest free address of 198.18.0.0/15, the network for benchmarks (RFC 2544), which reaches no real machine.
// Neighbours are in different /24s, so that drivers cannot rely on a common one.
func (w *World) freeAddress() netip.Addr {
	taken := maps.Clone(w.reserved)
	for _, m := range w.machines {
		for _, cp := range m.ports() {
			taken[cp.Address] = true
		}
	}
	for _, s := range w.config.Ansible {
		taken[s.Address] = true
	}
	for n := 0; ; n++ {
		addr := netip.AddrFrom4([4]byte{198, 18, byte(n/240*3 + n%3), byte(10 + n%240)})
		if !taken[addr] {
			return addr
		}
	}
}

func (w *World) nextSerial() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	return w.serial
}

func (w *World) of(instance, vnfc string) *machine {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.machines {
		if m.Instance == instance && m.VNFC == vnfc {
			return m
		}
	}
	return nil
}

// publicKey returns the host key of a machine, with a comment for the error that a program gets which forgets to dial through the
// World and meets a real machine at the address. It returns "" while the machine is being made.
func (m *machine) publicKey() string {
	if m.host == nil {
		return ""
	}
	return m.host.PublicKey() + " of a sandbox machine: set Dial: world.Dial"
}
