package kubeadm

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/members"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The archive of a snapshot of a cluster has these files, in this order. Package archive/tar reads them as a stream.
const (
	// snapshotAbout has a JSON object, snapshotContent, about the rest.
	snapshotAbout = "snapshot.json"
	// snapshotFiles is the folder of files of one control-plane node, each under its path on the node, such as
	// files/etc/kubernetes/pki/ca.key: see controlplane.Files.
	snapshotFiles = "files"
	// snapshotEtcd is a snapshot of etcd as "etcdctl snapshot save" writes it, with its checksum, for "etcdutl snapshot restore".
	snapshotEtcd = "etcd/snapshot.db"
)

// snapshotFormat is the number of the format of the archive.
const snapshotFormat = 1

// snapshotContent is the content of snapshotAbout.
type snapshotContent struct {
	Format     int    `json:"format"`
	Node       string `json:"node"`                 // address of the control-plane node that the files and the data of etcd come from
	Kubernetes string `json:"kubernetes,omitempty"` // version in the ConfigMap kubeadm-config; "" if no API server answers
	Etcd       string `json:"etcd"`                 // version of etcd on the node
}

// about returns what documents show.
func (c snapshotContent) about() map[string]string {
	return map[string]string{"node": c.Node, "kubernetes": c.Kubernetes, "etcd": c.Etcd}
}

// Times within which a snapshot begins: it must not keep a heal waiting for machines that are dead.
const (
	snapshotAttempt = 30 * time.Second // of one control-plane node
	versionLimit    = 10 * time.Second // of the API
)

var _ vnflcm.Snapshotter = (*Driver)(nil)

// TakeSnapshot implements vnflcm.Snapshotter. It takes the data of etcd, which needs no quorum, from the first control-plane node whose member
// answers, and the files from the same node. Nothing is written on the node.
func (d *Driver) TakeSnapshot(ctx context.Context, op *vnflcm.Operation, to *tar.Writer) (map[string]string, error) {
	e, err := d.open(ctx, op)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	n, data, err := e.beginSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = data.Close() }()
	op.Report(ctx, "reading the files of "+n.Label())
	files, err := controlplane.Files(ctx, n)
	if err != nil {
		return nil, err
	}
	content := snapshotContent{Format: snapshotFormat, Node: n.IP.String(), Kubernetes: e.knownVersion(ctx), Etcd: data.Version}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if err := addFile(to, snapshotAbout, text); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := addFile(to, snapshotFiles+f.Path, f.Content); err != nil {
			return nil, err
		}
	}
	op.Report(ctx, fmt.Sprintf("reading %d MiB of etcd from %s", data.Size>>20, n.Label()))
	if err := to.WriteHeader(&tar.Header{Name: snapshotEtcd, Mode: 0o600, Size: data.Size}); err != nil {
		return nil, err
	}
	if _, err := io.Copy(to, data); err != nil {
		return nil, fmt.Errorf("kubeadm: the snapshot of etcd on %s: %w", n.Label(), err)
	}
	return content.about(), nil
}

func addFile(to *tar.Writer, name string, content []byte) error {
	err := to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))})
	if err == nil {
		_, err = to.Write(content)
	}
	return err
}

// beginSnapshot returns the first control-plane node that stays and whose member of etcd answers, with the data of the member.
func (e *environment) beginSnapshot(ctx context.Context) (mgmt.Node, *etcd.Snapshot, error) {
	var errs []error
	for _, n := range e.up {
		data, err := beginWithin(ctx, snapshotAttempt, n)
		if err == nil {
			return n, data, nil
		}
		if errs = append(errs, fmt.Errorf("%s: %w", n.Label(), err)); ctx.Err() != nil {
			break
		}
	}
	return mgmt.Node{}, nil, fmt.Errorf("kubeadm: etcd answers on no control-plane node: %w", errors.Join(errs...))
}

// beginWithin begins a snapshot within a time. The stream then lasts as long as ctx.
func beginWithin(ctx context.Context, limit time.Duration, n mgmt.Node) (*etcd.Snapshot, error) {
	ctx, stop := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { stop(fmt.Errorf("no answer within %v", limit)) })
	data, err := members.Snapshot(ctx, n)
	if err == nil && timer.Stop() {
		data.ReadCloser = stopping{data.ReadCloser, stop}
		return data, nil
	}
	if err == nil {
		err = errors.Join(context.Cause(ctx), data.Close())
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	stop(nil)
	return nil, err
}

// stopping ends the context of a stream when the stream is closed.
type stopping struct {
	io.ReadCloser

	stop context.CancelCauseFunc
}

// Close implements io.Closer.
func (s stopping) Close() error {
	defer s.stop(nil)
	return s.ReadCloser.Close()
}

// knownVersion returns the version of the cluster, "" if no API server answers soon.
func (e *environment) knownVersion(ctx context.Context) (version string) {
	_ = mgmt.Within(ctx, versionLimit, func(ctx context.Context) (err error) {
		version, err = clusterVersion(ctx, e)
		return err
	})
	return version
}

// TestSnapshot implements vnflcm.Snapshotter. It restores the data of etcd into a file on the machine of this program, and checks that the files
// without which no control plane could be made are there.
func (d *Driver) TestSnapshot(ctx context.Context, op *vnflcm.Operation, from *tar.Reader) (map[string]string, error) {
	restored, err := d.testArchive(ctx, from)
	if err != nil {
		return nil, err
	}
	op.Log.DebugContext(ctx, "a snapshot has passed its test", "revision", restored.Revision, "bytes", restored.Size)
	return map[string]string{"etcdRevision": fmt.Sprint(restored.Revision), "etcdBytes": fmt.Sprint(restored.Size)}, nil
}

func (d *Driver) testArchive(ctx context.Context, from *tar.Reader) (restored etcd.Restored, err error) {
	archive := snapshotArchive{Reader: from}
	if _, err := archive.begin(); err != nil {
		return restored, err
	}
	files, err := archive.files()
	if err != nil {
		return restored, err
	}
	if err := controlplane.CheckFiles(files); err != nil {
		return restored, err
	}
	if restored, err = etcd.TestRestore(ctx, archive, d.config.Scratch); err != nil {
		return restored, err
	}
	if _, err := from.Next(); !errors.Is(err, io.EOF) {
		return restored, errors.Join(errors.New("kubeadm: the snapshot has more files than expected"), err)
	}
	return restored, nil
}

// beforeHeal bounds a snapshot before a heal: the cluster must not wait for it for long.
const beforeHeal = 10 * time.Minute

// saveLimit bounds the step of the snapshot. It is longer than beforeHeal: a snapshot that takes too long is a warning, and the step does not fail.
func saveLimit(Timeouts) time.Duration { return beforeHeal + time.Minute }

// runSaveBefore takes a snapshot before a heal removes members of etcd.
func runSaveBefore(ctx context.Context, e *environment, _ mgmt.Node) error {
	err := takeSnapshotBefore(ctx, e)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isOfManager(err):
		return err
	case err != nil:
		e.op.Warn(ctx, fmt.Sprintf("no snapshot was taken before the heal: %v", err))
	}
	return nil
}

func takeSnapshotBefore(ctx context.Context, e *environment) error {
	return mgmt.Within(ctx, beforeHeal, func(ctx context.Context) error {
		_, err := e.op.TakeSnapshot(ctx, "before", e.Driver)
		return err
	})
}

// requireSnapshot takes a snapshot before members of etcd are removed, once in the operation. Without a snapshot the operation fails, unless the
// request passes the check over in its attribute list, or the operation is rolled back.
func requireSnapshot(ctx context.Context, e *environment, list string, passedOver bool) error {
	err := takeSnapshotBefore(ctx, e)
	switch {
	case err == nil, ctx.Err() != nil, isOfManager(err):
		return err
	case passedOver:
		e.op.Warn(ctx, fmt.Sprintf("passed over by the request%s: %s: %v", e.bySender(), checkSnapshot, err))
		return nil
	case e.op.RollingBack:
		e.op.Warn(ctx, fmt.Sprintf("no snapshot was taken before the operation is rolled back: %v", err))
		return nil
	}
	return fmt.Errorf("kubeadm: the check %s (%s): no snapshot was taken before control-plane nodes are removed: %w", checkSnapshot, list, err)
}

func runSaveBeforeScaleIn(ctx context.Context, e *environment, _ mgmt.Node) error {
	return requireSnapshot(ctx, e, "preflight.pass_over", e.p.passesOverFinding(checkSnapshot))
}

func runSaveBeforeChange(ctx context.Context, e *environment, _ mgmt.Node) error {
	return requireSnapshot(ctx, e, "change_pass_over", slices.Contains(changePassOver(e.op), checkSnapshot))
}
