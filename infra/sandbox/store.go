package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/vnfkit/vnfkit/internal/kubesim"
)

// stored is the world on disk.
type stored struct {
	Serial   int
	Machines []*machine
	Virtual  map[string][]port `json:",omitempty"`
	Servers  []*ansibleHost    `json:",omitempty"`
	Kube     *kubesim.World
}

// made are the machines that are complete.
func (w *World) made() []*machine {
	return slices.DeleteFunc(w.sorted(), func(m *machine) bool { return !m.made })
}

func (w *World) restore() error {
	data, err := os.ReadFile(w.file())
	if errors.Is(err, fs.ErrNotExist) {
		return w.startServers(nil)
	}
	if err != nil {
		return err
	}
	if err := w.load(data); err != nil {
		return fmt.Errorf("sandbox: %s: %w", w.file(), err)
	}
	return w.sweep()
}

// load starts the machines of a stored world.
func (w *World) load(data []byte) error {
	from := stored{Kube: w.kube}
	if err := json.Unmarshal(data, &from); err != nil {
		return err
	}
	w.serial = from.Serial
	maps.Copy(w.virtual, from.Virtual)
	var ids []string
	for _, m := range from.Machines {
		ids = append(ids, m.ID)
	}
	w.kube.Retain(ids)
	for _, m := range from.Machines {
		if err := w.start(m); err != nil {
			return err
		}
		m.made, w.machines[m.ID] = true, m
	}
	return w.startServers(from.Servers)
}

// sweep removes the files of machines that were being made, or deleted, when the process died.
func (w *World) sweep() error {
	dir := filepath.Join(w.config.Dir, "hosts")
	left, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range left {
		if w.machines[entry.Name()] == nil {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

func (w *World) file() string { return filepath.Join(w.config.Dir, "world.json") }

// saveQuietly is for changes by programs, which cannot report the error.
func (w *World) saveQuietly() { _ = w.save() }

// save writes the world as a whole, by rename: a killed process leaves the old one or the new one.
func (w *World) save() error {
	if w.config.Dir == "" {
		return nil
	}
	w.saving.Lock()
	defer w.saving.Unlock()
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	data, err := json.Marshal(stored{Serial: w.serial, Machines: w.made(), Virtual: w.virtual, Servers: w.servers, Kube: w.kube})
	w.mu.Unlock()
	if err != nil {
		return err
	}
	next := w.file() + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, w.file())
}
