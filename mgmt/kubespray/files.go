package kubespray

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/sshexec"
)

// put replaces the files of the inventory, each one atomically. It records all paths in the mark before it writes them, so
// that every file of the driver is known even after a crash. It writes the inventory itself last.
func (d *deployment) put(ctx context.Context, files []inventory.File, nodes []mgmt.Node) error {
	w := d.dir
	if err := w.hidesNothing(ctx, files); err != nil {
		return err
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	folders, err := w.newFolders(ctx, paths)
	if err != nil {
		return err
	}
	if err := w.unshare(ctx); err != nil {
		return err
	}
	forgotten := w.mark.forgotten(slices.Concat(paths, folders))
	if all := union(w.mark.Files, slices.Concat(paths, folders)); !slices.Equal(all, w.mark.Files) {
		w.mark.Files = all
		if err := w.writeMark(ctx); err != nil {
			return err
		}
	}
	if err := w.host.Exec(ctx, sshexec.Command{Argv: append([]string{"mkdir", "-p", "-m", "700", "--"}, w.folders(paths)...)}); err != nil {
		return err
	}
	for _, f := range append(slices.Clone(files[1:]), files[0]) {
		if err := w.host.Upload(ctx, bytes.NewReader(f.Content), sshexec.File{Path: f.Path, Mode: f.Mode}); err != nil {
			return err
		}
	}
	return w.tidy(ctx, forgotten, nodes)
}

// folders returns the directories that the files and the runs of playbooks need.
func (w *directory) folders(paths []string) []string {
	out := []string{w.own() + "/facts", w.own() + "/logs"}
	for _, p := range paths {
		out = append(out, path.Dir(p))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// newFolders returns the directories that the files need and that do not exist yet, with a slash at the end. In a directory
// that another program owns, the driver later removes exactly these.
func (w *directory) newFolders(ctx context.Context, paths []string) (out []string, err error) {
	if w.whole() {
		return nil, nil
	}
	for _, p := range paths {
		for dir := path.Dir(p); dir != w.path && dir != w.own(); dir = path.Dir(dir) {
			there, err := holds(ctx, w.host, "test", "-d", dir)
			if err != nil {
				return nil, err
			}
			if name := dir + "/"; !there || slices.Contains(w.mark.Files, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// tidy removes files that are no longer needed: files that the inventory no longer has, Ansible's facts of machines that no
// longer exist (a new machine may get the same name), and unfinished uploads of processes that were killed.
func (w *directory) tidy(ctx context.Context, forgotten []string, nodes []mgmt.Node) error {
	facts, err := w.listed(ctx, w.own()+"/facts")
	if err != nil {
		return err
	}
	facts = slices.DeleteFunc(facts, func(name string) bool {
		return slices.ContainsFunc(nodes, func(n mgmt.Node) bool { return n.HostName == path.Base(name) })
	})
	stale := slices.DeleteFunc(slices.Clone(forgotten), func(name string) bool { return strings.HasSuffix(name, "/") })
	left, err := w.uploads(ctx)
	if err != nil {
		return err
	}
	if stale = slices.Concat(stale, facts, left); len(stale) > 0 {
		if err := w.host.Exec(ctx, sshexec.Command{Argv: append([]string{"rm", "-f", "--"}, stale...)}); err != nil {
			return err
		}
	}
	if len(forgotten) == 0 {
		return nil
	}
	w.mark.Files = slices.DeleteFunc(w.mark.Files, func(name string) bool { return slices.Contains(forgotten, name) })
	return w.writeMark(ctx)
}

// listed returns the files in these directories.
func (w *directory) listed(ctx context.Context, folders ...string) (names []string, err error) {
	argv := append(append([]string{"find"}, folders...), "-mindepth", "1", "-maxdepth", "1", "-type", "f")
	out, err := w.host.Output(ctx, sshexec.Command{Argv: argv})
	for line := range strings.Lines(string(out)) {
		names = append(names, strings.TrimSuffix(line, "\n"))
	}
	return names, err
}

// uploads returns the unfinished uploads that killed processes have left. sshexec uploads a file beside its destination,
// under a name derived from the name of the file.
func (w *directory) uploads(ctx context.Context) (left []string, err error) {
	ours := append([]string{w.path + "/" + markFile}, w.mark.Files...)
	var folders []string
	for _, name := range ours {
		folders = append(folders, path.Dir(name))
	}
	slices.Sort(folders)
	var there []string
	for _, dir := range slices.Compact(folders) {
		is, err := holds(ctx, w.host, "test", "-d", dir)
		if err != nil {
			return nil, err
		}
		if is {
			there = append(there, dir)
		}
	}
	names, err := w.listed(ctx, there...)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		dir, base := path.Split(name)
		file, _, is := strings.Cut(strings.TrimPrefix(base, "."), ".sshexec-")
		if is && base != file && slices.Contains(ours, dir+file) {
			left = append(left, name)
		}
	}
	return left, nil
}
