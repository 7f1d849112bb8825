package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
)

// checkSnapshot returns what is wrong with the words after snapshot.
func checkSnapshot(args []string) error {
	switch {
	case len(args) == 0, len(args) == 1 && args[0] == "list", len(args) == 2 && args[0] == "key", len(args) == 4 && args[0] == "open":
		return nil
	}
	return errors.New("snapshot takes nothing, or list, or key and a new file, or open and an archive, the file of the recovery key and a new folder")
}

// isOffline reports whether the command needs neither a cloud nor the state.
func (o options) isOffline() bool {
	return o.command == "images" || o.command == "snapshot" && len(o.args) > 1
}

// offline runs such a command.
func (o options) offline() error {
	switch {
	case o.command == "images":
		return writeNeeds(os.Stdout, o.args, o.repository)
	case o.args[0] == "key":
		return newRecoveryKey(o.args[1], os.Stdout)
	}
	return openSnapshot(o.args[1], o.args[2], o.args[3])
}

// newRecoveryKey writes a recovery key into a new file, and its public part to out.
func newRecoveryKey(name string, out io.Writer) error {
	secret, public, err := snapshots.NewRecoveryKey()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user's own
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "# public key: %s\n%s\n", public, secret.Reveal())
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, public)
	return err
}

// openSnapshot writes the files of an archive into a new folder, which only the user can read.
func openSnapshot(archive, recoveryKey, folder string) (err error) {
	from, err1 := os.Open(archive)    //nolint:gosec // the user's own
	key, err2 := os.Open(recoveryKey) //nolint:gosec // the same
	defer func() { err = errors.Join(err, closed(from), closed(key)) }()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	clear, err := snapshots.Decrypt(from, key)
	if err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := extract(root, clear); err != nil {
		return fmt.Errorf("%s: %w: do not use what is in %s", archive, err, folder)
	}
	return nil
}

func closed(file *os.File) error {
	if file == nil {
		return nil
	}
	return file.Close()
}

// extract writes each file of an archive, and reads the archive to its end: a cut one is an error.
func extract(root *os.Root, from io.Reader) error {
	for files := tar.NewReader(from); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, from)
			return err
		}
		if err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(head.Name), 0o700); err != nil {
			return err
		}
		file, err := root.OpenFile(head.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, files) //nolint:gosec // as large as the user's data
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
}

// archives keeps snapshots in the state directory.
func (o options) archives() (*snapshots.Archives, error) {
	var recovery []string
	if o.recovery != "" {
		recovery = []string{o.recovery}
	}
	return snapshots.New(snapshots.Directory(filepath.Join(o.state, "snapshots")), recovery...)
}

// snapshot takes a snapshot of the cluster, or lists them.
func (v *vnfm) snapshot(ctx context.Context, o options, id string) error {
	if len(o.args) == 1 {
		page, err := v.Snapshots(ctx, vnflcm.SnapshotQuery{InstanceID: id})
		if err != nil {
			return err
		}
		return writeSnapshots(os.Stdout, page.Items)
	}
	if o.plan {
		return v.show(ctx, o, id, vnflcm.CreateVnfSnapshotRequest{})
	}
	info, err := v.CreateSnapshotInfo(ctx, vnflcm.CreateVnfSnapshotInfoRequest{})
	if err != nil {
		return err
	}
	operation, err := v.CreateSnapshot(ctx, id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info.ID})
	return v.wait(ctx, operation, err)
}

// writeSnapshots writes a table of snapshots that have passed their test, the oldest first.
func writeSnapshots(to io.Writer, list []*vnflcm.VnfSnapshotInfo) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, info := range list {
		s := info.VnfSnapshot
		if s == nil {
			continue
		}
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\tKubernetes %s\tetcd %s\trevision %s\n", s.ID, s.CreationFinishedAt.UTC().Format(time.DateTime), s.Cause,
			s.About["kubernetes"], s.About["etcd"], s.About["etcdRevision"]); err != nil {
			return err
		}
	}
	return table.Flush()
}
