package kubespray

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// runRemoveDirectory removes what the driver has created on the Ansible server, and the records of it. The recorded host key
// of the server is kept if the VNF is healed.
func runRemoveDirectory(ctx context.Context, d *deployment, _ mgmt.Node) error {
	if err := d.clear(ctx, d.op); err != nil {
		return err
	}
	err := d.op.State().Delete(ctx, mtuState)
	if p, errRead := d.read(ctx, d.op); d.op.Heal == nil && errRead == nil {
		err = errors.Join(err, d.forgetServer(ctx, d.op, p.Cluster.Ansible))
	}
	return err
}

// clear removes the directory that the instance has claimed. If the server does not answer, clear logs a warning that names
// the directory, so that the VNF can still be terminated.
func (d *Driver) clear(ctx context.Context, op *vnflcm.Operation) error {
	var t taken
	if err := op.State().Get(ctx, directoryState, &t); err != nil {
		return ignoring(err, vnflcm.ErrNotFound)
	}
	err := vnflcm.Do(ctx, op, "remove-directory", "", func(ctx context.Context) error {
		err := mgmt.Within(ctx, d.config.Timeouts.Login, func(ctx context.Context) error { return d.removeTaken(ctx, op, t) })
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			op.Log.WarnContext(ctx, "the directory of the inventory is left on the Ansible server", "server", t.Server, "directory", t.Path, "error", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return op.State().Delete(ctx, directoryState)
}

// removeTaken removes the directory that the instance has claimed, if the instance still owns it.
func (d *Driver) removeTaken(ctx context.Context, op *vnflcm.Operation, t taken) error {
	p, err := d.read(ctx, op)
	if err != nil {
		return err
	}
	dep := &deployment{Driver: d, op: op, p: &p.Cluster}
	if name := dep.serverName(); name != t.Server {
		return errors.New("kubespray: the request names another Ansible server, " + name)
	}
	server, err := d.ansibleServer(op, p.Cluster.Ansible)
	if err != nil {
		return err
	}
	if err := dep.forgetRuns(ctx, server); err != nil {
		return err
	}
	home, err := home(ctx, server.Host)
	if err != nil {
		return err
	}
	w := &directory{host: server.Host, instance: op.InstanceID, path: t.Path, control: controlDir(home, op.InstanceID)}
	if err := w.unshare(ctx); err != nil {
		return err
	}
	w.mark, err = w.readMark(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.removeEmpty(ctx)
	case err != nil:
		return err
	case w.mark.Instance != w.instance:
		return nil // another instance has claimed the directory since
	}
	return w.remove(ctx)
}

// remove removes the files that the driver wrote. If the driver owns the directory, it removes the directory.
func (w *directory) remove(ctx context.Context) error {
	if w.whole() {
		return w.removeWhole(ctx)
	}
	left, err := w.uploads(ctx)
	if err != nil {
		return err
	}
	gone := append([]string{"rm", "-rf", "--", w.own()}, left...)
	var folders []string
	for _, name := range w.mark.Files {
		if strings.HasSuffix(name, "/") {
			folders = append(folders, strings.TrimSuffix(name, "/"))
			continue
		}
		gone = append(gone, name)
	}
	if err := w.host.Exec(ctx, sshexec.Command{Argv: gone}); err != nil {
		return err
	}
	slices.SortFunc(folders, func(a, b string) int { return len(b) - len(a) }) // nested directories first
	for _, name := range folders {
		// rmdir leaves a directory that has files of another program.
		if _, err := holds(ctx, w.host, "rmdir", "--", name); err != nil {
			return err
		}
	}
	return w.host.Exec(ctx, sshexec.Command{Argv: []string{"rm", "-f", "--", w.path + "/" + markFile}})
}

// removeWhole removes the directory, and the mark last: a process that resumes after a crash recognizes the directory by
// the mark.
func (w *directory) removeWhole(ctx context.Context) error {
	entries, err := w.entries(ctx, w.path)
	if err != nil {
		return err
	}
	gone := []string{"rm", "-rf", "--"}
	for _, name := range entries {
		if name != markFile {
			gone = append(gone, w.path+"/"+name)
		}
	}
	for _, argv := range [][]string{gone, {"rm", "-rf", "--", w.path}} {
		if err := w.host.Exec(ctx, sshexec.Command{Argv: argv}); err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty removes a directory that was created and not marked before the process died.
func (w *directory) removeEmpty(ctx context.Context) error {
	entries, err := w.entries(ctx, w.path)
	if err != nil {
		return ignoring(err, fs.ErrNotExist)
	}
	if len(entries) > 0 {
		return nil // another program has written files into it
	}
	_, err = holds(ctx, w.host, "rmdir", "--", w.path)
	return err
}
