package kubespray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// directory is the directory on the Ansible server that holds the inventory of an instance.
type directory struct {
	host      *sshexec.Host
	instance  string
	path      string // absolute
	inventory string // path of the inventory in it
	named     bool   // the request names a file: the directory may belong to another program
	parent    string // created by the driver and shared by all instances; "" if the request names the directory
	control   string // directory of the sockets of SSH connections; "" if connections are not kept

	algorithms []string // signature algorithms with which the nodes prove their host keys
	mark       mark     // set by claim
}

// mark is the content of the file that says which VNF instance owns the directory.
type mark struct {
	Instance string `json:"instance"`
	Whole    bool   `json:"whole"`  // the driver owns the directory, not only the paths in Files
	Sample   bool   `json:"sample"` // the variables of kubespray's sample have been copied
	// Files are the paths that the driver has written. It removes those that the next inventory no longer has.
	Files []string `json:"files,omitempty"`
}

// markFile is the name of the file that has the mark, in the directory.
const markFile = ".vnfkit.json"

// directoryState is the key in the state of the instance under which the driver records the directory before it creates it.
const directoryState = "kubespray/directory"

// taken is the value recorded under directoryState.
type taken struct{ Server, Path string }

// directory returns the directory that the request names, or the default one in the login user's home.
func (d *deployment) directory(home string) (*directory, error) {
	dir := &directory{host: d.server.Host, instance: d.op.InstanceID, control: controlDir(home, d.op.InstanceID)}
	switch p := strings.TrimSuffix(d.p.Ansible.Inventory, "/"); path.Ext(p) {
	case ".ini", ".yml", ".yaml":
		dir.path, dir.inventory, dir.named = path.Dir(p), p, true
	default:
		if dir.path = p; p == "" {
			if !goodPath(home) {
				return nil, fmt.Errorf("kubespray: the home directory %.200q on the Ansible server cannot be used: give transferring_inventory_path, which %s", home, pathReason)
			}
			dir.parent = path.Join(home, ".vnfkit/kubespray")
			dir.path = path.Join(dir.parent, d.op.InstanceID)
		}
		dir.inventory = dir.path + "/hosts.ini"
	}
	return dir, nil
}

// whole reports whether the driver owns the directory.
func (w *directory) whole() bool { return w.mark.Whole }

// own returns the directory for files that are not a part of the inventory: host keys, private keys, facts and logs.
func (w *directory) own() string {
	if w.whole() {
		return w.path
	}
	return w.path + "/.vnfkit"
}

func (w *directory) generator(o inventory.Options) inventory.Generator {
	if path.Ext(w.inventory) == ".ini" {
		return inventory.INI{Options: o}
	}
	return inventory.YAML{Options: o}
}

// sshArgs makes Ansible's ssh trust only the host keys that the driver has recorded.
func (w *directory) sshArgs(algorithms []string) string {
	args := fmt.Sprintf("-o UserKnownHostsFile=%s/known_hosts -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes", w.own())
	if len(algorithms) > 0 {
		args += " -o HostKeyAlgorithms=" + strings.Join(algorithms, ",")
	}
	return args
}

// ErrDirectory reports that the directory of the inventory (transferring_inventory_path) has files that this VNF instance
// did not write. Retry after they have been removed or moved, as the text of the error says.
var ErrDirectory = errors.New("kubespray: the directory of the inventory is not ours")

// claim marks the directory as owned by the instance, unless it is marked already. After a crash, calling claim again
// continues: the driver records each path before it creates it.
func (d *deployment) claim(ctx context.Context) error {
	w := d.dir
	m, err := w.readMark(ctx)
	switch {
	case err == nil && m.Instance == w.instance:
		w.mark = m
		// Healing the whole VNF deletes directoryState even if it could not remove the directory.
		if err := d.op.State().Put(ctx, directoryState, d.taken()); err != nil {
			return err
		}
	case err == nil:
		return fmt.Errorf("%w: %s belongs to VNF instance %.80q; choose another transferring_inventory_path", ErrDirectory, w.path, m.Instance)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		if err := d.take(ctx); err != nil {
			return err
		}
	}
	if w.mark.Whole && !w.mark.Sample {
		return w.copySample(ctx, d.p.Ansible.Root)
	}
	return nil
}

// take claims a directory that has no mark.
func (d *deployment) take(ctx context.Context) error {
	w, ours := d.dir, d.taken()
	var before taken
	if err := d.op.State().Get(ctx, directoryState, &before); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		return err
	}
	entries, err := w.entries(ctx, w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := d.op.State().Put(ctx, directoryState, ours); err != nil {
			return err
		}
		if err := w.make(ctx); err != nil {
			return err
		}
		w.mark = mark{Instance: w.instance, Whole: true}
	case err != nil:
		return err
	case before == ours && len(entries) == 0: // this process, or one before it, was killed after creating the directory
		w.mark = mark{Instance: w.instance, Whole: true}
	case !w.named:
		return fmt.Errorf("%w: %s exists already; choose another transferring_inventory_path", ErrDirectory, w.path)
	default:
		if slices.Contains(entries, path.Base(w.inventory)) {
			return fmt.Errorf("%w: %s exists already; choose another transferring_inventory_path", ErrDirectory, w.inventory)
		}
		if err := d.op.State().Put(ctx, directoryState, ours); err != nil {
			return err
		}
		w.mark = mark{Instance: w.instance}
	}
	return w.writeMark(ctx)
}

// taken returns the directory as it is recorded in the state.
func (d *deployment) taken() taken { return taken{Server: d.serverName(), Path: d.dir.path} }

// serverName returns the name of the Ansible server in the state of the instance.
func (d *deployment) serverName() string {
	if d.p.Ansible.Address == "" {
		return "of the VNFM"
	}
	return d.p.Ansible.endpoint()
}

func (w *directory) readMark(ctx context.Context) (m mark, err error) {
	data, err := w.host.ReadFile(ctx, sshexec.File{Path: w.path + "/" + markFile})
	if err != nil {
		return mark{}, err
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Instance == "" {
		return mark{}, fmt.Errorf("%w: %s/%s cannot be read", ErrDirectory, w.path, markFile)
	}
	return m, nil
}

func (w *directory) writeMark(ctx context.Context) error {
	data, err := json.Marshal(w.mark)
	if err != nil {
		return err
	}
	return w.host.Upload(ctx, strings.NewReader(string(data)), sshexec.File{Path: w.path + "/" + markFile, Mode: 0o600})
}

// entries lists a directory. The error wraps fs.ErrNotExist if the directory does not exist.
func (w *directory) entries(ctx context.Context, dir string) ([]string, error) {
	there, err := holds(ctx, w.host, "test", "-e", dir)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fs.ErrNotExist
	}
	out, err := w.host.Output(ctx, sshexec.Command{Argv: []string{"find", dir + "/", "-mindepth", "1", "-maxdepth", "1"}})
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		names = append(names, path.Base(strings.TrimSuffix(line, "\n")))
	}
	return names, nil
}

// hidesNothing returns ErrDirectory if writing files would make Ansible ignore files of variables that another program has
// written.
func (w *directory) hidesNothing(ctx context.Context, files []inventory.File) error {
	var ours []inventory.File
	for _, f := range files {
		ours = append(ours, inventory.File{Path: strings.TrimPrefix(f.Path, w.path+"/")})
	}
	there, err := w.entries(ctx, w.path+"/group_vars")
	if err != nil {
		return ignoring(err, fs.ErrNotExist)
	}
	for _, name := range inventory.Hides(ours) {
		if base := path.Base(name); slices.Contains(there, base) {
			return fmt.Errorf("%w: Ansible would not read %s/%s any more beside variables of ours: move it into the directory %s/%s, or choose another transferring_inventory_path",
				ErrDirectory, w.path, name, w.path, strings.TrimSuffix(name, path.Ext(name)))
		}
	}
	return nil
}

// make creates the directory, readable for the login user only. It fails if the directory exists.
func (w *directory) make(ctx context.Context) error {
	if w.parent != "" {
		if err := w.host.Exec(ctx, sshexec.Command{Argv: []string{"mkdir", "-p", "-m", "700", "--", w.parent}}); err != nil {
			return err
		}
	}
	return w.host.Exec(ctx, sshexec.Command{Argv: []string{"mkdir", "-m", "700", "--", w.path}})
}

// copySample copies the variables of kubespray's sample inventory into the directory, as Tacker does. The driver's
// variables are in separate files that come later in the alphabet, so they take precedence.
func (w *directory) copySample(ctx context.Context, root string) error {
	sample := root + "/inventory/sample/group_vars"
	there, err := holds(ctx, w.host, "test", "-d", sample)
	if err != nil {
		return err
	}
	if there {
		if err := w.host.Exec(ctx, sshexec.Command{Argv: []string{"cp", "-R", "--", sample, w.path + "/"}}); err != nil {
			return err
		}
	}
	w.mark.Sample = true
	return w.writeMark(ctx)
}

// holds runs a command whose exit code is an answer: 0 is true, 1 is false.
func holds(ctx context.Context, host *sshexec.Host, argv ...string) (bool, error) {
	err := host.Exec(ctx, sshexec.Command{Argv: argv})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// forgotten returns the recorded files that the next inventory no longer has.
func (m mark) forgotten(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(m.Files), func(name string) bool { return slices.Contains(paths, name) })
}

// union returns the names that are in one or both lists, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// ignoring returns nil instead of an error that is harmless.
func ignoring(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
