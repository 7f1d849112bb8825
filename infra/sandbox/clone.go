package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"path"
	"slices"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Clone returns a world in memory with the same machines, files, host keys and clusters. No programs run in it yet. A
// test can prepare one world and start each of its cases with a clone, together with a copy of the records in the
// store. w must be idle meanwhile; both have the Config of w except its Dir. Close the clone too.
func (w *World) Clone() (*World, error) {
	w.mu.Lock()
	data, err := json.Marshal(stored{Serial: w.serial, Machines: w.made(), Virtual: w.virtual, Servers: w.servers, Kube: w.kube})
	hosts := map[string]*sshtest.Host{}
	for id, m := range w.machines {
		hosts[id] = m.host
	}
	servers := slices.Clone(w.servers)
	c := &World{config: w.config, machines: map[string]*machine{}, reserved: map[netip.Addr]bool{}, virtual: map[string][]port{}}
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.config.Dir = ""
	c.kube = kubesim.NewWorld(c.config.simulation(nil))
	if err := c.load(data); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	for id, m := range c.machines {
		if err := copyFiles(m.host.FS(), hosts[id].FS()); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	for _, s := range servers {
		if err := copyFiles(c.AnsibleHost(s.Address).FS(), s.host.FS()); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func copyFiles(to, from afero.Fs) error {
	return afero.Walk(from, "/", func(name string, info fs.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := afero.ReadFile(from, name)
		if err != nil {
			return err
		}
		if err := to.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := afero.WriteFile(to, name, content, info.Mode().Perm()); err != nil {
			return err
		}
		return to.Chmod(name, info.Mode().Perm())
	})
}
