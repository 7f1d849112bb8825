package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Restore restores etcd on control-plane nodes from a snapshot. Nodes with the same ID and Members become members of one etcd.
type Restore struct {
	ID      string // of the operation; part of names of directories
	Members []RestoredMember
}

// RestoredMember is a member of etcd that Restore makes. A member keeps its name and its URL.
type RestoredMember struct{ VNFC, Name, PeerURL string }

// Directories of a restore. All data of etcd stay in its data directory, which the container of etcd has too and in which files are moved at once.
const (
	restoreData = etcdData + "/vnfkit-restore"
	parked      = directory + "vnfkit-restore" // manifests of static pods that do not run
	memberData  = etcdData + "/member"
)

// revisionBump is how much later than the snapshot the revisions of the restored etcd begin, so that no client has seen them (etcd.io, "Disaster
// recovery").
const revisionBump = 1_000_000_000

// SnapshotFile is the file with the snapshot on a node.
const SnapshotFile = restoreData + "/etcd.db"

// restored is the data directory that etcdutl makes.
const restored = restoreData + "/data"

// replacedData is the directory with the data of etcd before the restore.
func (r Restore) replacedData() string { return etcdData + "/before-restore-" + r.ID }

// IsDone reports whether what comes before Replace is done on a node: Replace has moved the data of etcd away, so that etcd must not start before Replace has
// ended.
func (r Restore) IsDone(ctx context.Context, n mgmt.Node) (bool, error) {
	kept, err := exists(ctx, n, r.replacedData())
	if err != nil || !kept {
		return false, err
	}
	if moved, err := exists(ctx, n, r.replacedData()+"/member"); moved || err != nil {
		return moved, err
	}
	waits, err := exists(ctx, n, restored+"/member")
	return !waits, err
}

func exists(ctx context.Context, n mgmt.Node, name string) (bool, error) {
	return n.Root().Succeeds(ctx, "test", "-e", name)
}

// startLimit bounds how long the kubelet may take to start etcd.
const startLimit = 2 * time.Minute

// ResumeEtcd waits until etcd runs on a node. It starts etcd if an earlier restore has stopped it and was given up.
func ResumeEtcd(ctx context.Context, n mgmt.Node) error {
	err := resumeData(ctx, n)
	if err == nil {
		err = StartStatic(ctx, n, StaticEtcd)
	}
	if err != nil {
		return err
	}
	return mgmt.Within(ctx, startLimit, func(ctx context.Context) error {
		_, err := awaitProcess(ctx, n, StaticEtcd)
		return err
	})
}

// resumeData puts restored data in their place if a restore was given up while it replaced the data: etcd without data would begin an empty cluster.
func resumeData(ctx context.Context, n mgmt.Node) error {
	has, err := HasData(ctx, n)
	if has || err != nil {
		return err
	}
	return Place(ctx, n)
}

// Place puts the restored data on a node without data of etcd in their place.
func Place(ctx context.Context, n mgmt.Node) error {
	return moveIfExists(ctx, n, restored+"/member", memberData)
}

// IsStopped reports whether a restore that was given up has stopped the API server of a node.
func IsStopped(ctx context.Context, n mgmt.Node) (bool, error) {
	return exists(ctx, n, parkedManifest(StaticAPIServer))
}

// awaitProcess returns the id of the process of a static pod.
func awaitProcess(ctx context.Context, n mgmt.Node, pod string) (id string, err error) {
	return id, poll.Do(ctx, func() error {
		id, err = process(ctx, n, pod)
		if err == nil && id == "" {
			err = fmt.Errorf("kubeadm: %s: %s does not run", n.Label(), pod)
		}
		return err
	})
}

var poll = retry.Policy{First: 100 * time.Millisecond, Most: time.Second}

// AwaitAPI waits until the API server of a node answers.
func AwaitAPI(ctx context.Context, n mgmt.Node) error {
	return poll.Do(ctx, func() error { return cluster.Ready(ctx, n) })
}

// process returns the id of the process of a static pod, "" if it does not run.
func process(ctx context.Context, n mgmt.Node, pod string) (string, error) {
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"pgrep", "-x", pod}})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 1 {
		return "", nil
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first, err
}

// DataSize returns how many bytes the data of etcd have on a node.
func DataSize(ctx context.Context, n mgmt.Node) (int64, error) {
	return n.Root().Number(ctx, "du", "-s", "-B1", memberData)
}

// CheckRestoreSpace returns an error if a node lacks space for a snapshot of etcd of this many bytes, and the data that are restored from it.
func CheckRestoreSpace(ctx context.Context, n mgmt.Node, size int64) error {
	free, err := n.Root().Number(ctx, "df", "-B1", "--output=avail", etcdData)
	if err == nil && free < 2*size {
		err = fmt.Errorf("%s has %d MiB free in %s, and etcd has %d MiB: a restore copies it twice", n.Label(), free>>20, etcdData, size>>20)
	}
	return err
}

// lastWrite prints when etcd has last written its log, in seconds. etcd writes none without a quorum.
const lastWrite sshexec.Shell = "stat -c %Y " + memberData + "/wal/*.wal | sort -n | tail -n 1"

// SinceLastWrite returns how long ago etcd has last written data on a node, by the clock of the node.
func SinceLastWrite(ctx context.Context, n mgmt.Node) (time.Duration, error) {
	now, err := Clock(ctx, n)
	if err != nil {
		return 0, err
	}
	out, err := n.Root().Output(ctx, sshexec.Command{Shell: lastWrite})
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return now.Sub(time.Unix(seconds, 0)), err
}

// HasData reports whether a machine has data of etcd.
func HasData(ctx context.Context, n mgmt.Node) (bool, error) { return exists(ctx, n, memberData) }

// WriteSnapshot writes a snapshot of etcd into a file of a node that only root can read.
func WriteSnapshot(ctx context.Context, n mgmt.Node, from io.Reader) error {
	return n.Root().WriteFrom(ctx, SnapshotFile, from, 0o600)
}

// CopySnapshot copies the snapshot of a node to another one.
func CopySnapshot(ctx context.Context, from, to mgmt.Node) error {
	content, pipe := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = pipe.CloseWithError(from.Root().Exec(ctx, sshexec.Command{Argv: []string{"cat", SnapshotFile}, Stdout: pipe}))
	}()
	err := WriteSnapshot(ctx, to, content)
	_ = content.Close()
	<-ended
	return err
}

// Unpack makes the data of the member on a node from its snapshot, beside the data of etcd, which must run: etcdutl comes with its image.
// etcdutl compares the checksum of the snapshot.
func (r Restore) Unpack(ctx context.Context, n mgmt.Node) error {
	args, err := r.unpacking(ctx, n)
	if err != nil {
		return err
	}
	id, err := awaitProcess(ctx, n, StaticEtcd)
	if err != nil {
		return err
	}
	return n.Root().Run(ctx, slices.Concat([]string{"nsenter", "--target", id, "--mount", etcdutl}, args)...)
}

// imageMount is where the image of etcd is mounted while its etcdutl runs.
const imageMount = "/run/vnfkit-etcd"

// etcdutl is the program in the image of etcd.
const etcdutl = "/usr/local/bin/etcdutl"

// UnpackWith is Unpack on a node on which etcd does not run: containerd mounts the image of etcd, which it has.
func (r Restore) UnpackWith(ctx context.Context, n mgmt.Node, image string) error {
	if err := resumeData(ctx, n); err != nil {
		return err
	}
	args, err := r.unpacking(ctx, n)
	if err != nil {
		return err
	}
	if err := n.Root().Run(ctx, "mkdir", "-p", imageMount); err != nil {
		return err
	}
	if err := n.Root().Run(ctx, "ctr", "-n", "k8s.io", "images", "mount", image, imageMount); err != nil {
		return err
	}
	err = n.Root().Run(ctx, slices.Insert(args, 0, imageMount+etcdutl)...)
	return errors.Join(err, n.Root().Run(ctx, "ctr", "-n", "k8s.io", "images", "unmount", "--rm", imageMount))
}

// unpacking removes what an earlier attempt has left, and returns the arguments of etcdutl.
func (r Restore) unpacking(ctx context.Context, n mgmt.Node) ([]string, error) {
	i := slices.IndexFunc(r.Members, func(m RestoredMember) bool { return m.VNFC == n.ID })
	if i < 0 {
		return nil, fmt.Errorf("kubeadm: %s is no member of the restored etcd", n.Label())
	}
	var all []string
	for _, m := range r.Members {
		all = append(all, m.Name+"="+m.PeerURL)
	}
	own := r.Members[i]
	return []string{"snapshot", "restore", SnapshotFile, "--data-dir", restored, "--name", own.Name, "--initial-cluster", strings.Join(all, ","),
		"--initial-cluster-token", "vnfkit-" + r.ID, "--initial-advertise-peer-urls", own.PeerURL,
		"--bump-revision", strconv.Itoa(revisionBump), "--mark-compacted"}, n.Root().Run(ctx, "rm", "-rf", "--", restored)
}

// StaticPods are the static pods of a control-plane node in the order in which they are stopped.
var StaticPods = []string{StaticScheduler, StaticControllerManager, StaticAPIServer, StaticEtcd}

// StopStatic stops static pods of a node: it moves their manifests to a directory that the kubelet does not read. It returns when the API server and
// etcd have ended, if they are among the pods.
func StopStatic(ctx context.Context, n mgmt.Node, pods ...string) error {
	if err := n.Root().Run(ctx, "mkdir", "-p", "-m", "0700", parked); err != nil {
		return err
	}
	for _, pod := range pods {
		if err := moveIfExists(ctx, n, manifestOf(pod), parkedManifest(pod)); err != nil {
			return err
		}
	}
	return poll.Do(ctx, func() error {
		for _, pod := range pods {
			if pod != StaticAPIServer && pod != StaticEtcd {
				continue
			}
			id, err := process(ctx, n, pod)
			if err == nil && id != "" {
				err = fmt.Errorf("kubeadm: %s: %s still runs", n.Label(), pod)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func parkedManifest(pod string) string { return path.Join(parked, pod+".yaml") }

// StartStatic has the kubelet start static pods that StopStatic has stopped. Others are left as they are.
func StartStatic(ctx context.Context, n mgmt.Node, pods ...string) error {
	for _, pod := range pods {
		if err := moveIfExists(ctx, n, parkedManifest(pod), manifestOf(pod)); err != nil {
			return err
		}
	}
	return nil
}

func moveIfExists(ctx context.Context, n mgmt.Node, from, to string) error {
	found, err := exists(ctx, n, from)
	if !found || err != nil {
		return err
	}
	return n.Root().Run(ctx, "mv", "-f", "--", from, to)
}

// Replace puts the restored data of a node in the place of its data, which it renames. etcd must not run.
func (r Restore) Replace(ctx context.Context, n mgmt.Node) error {
	waits, err := exists(ctx, n, restored+"/member")
	if !waits || err != nil {
		return err
	}
	if err := n.Root().Run(ctx, "mkdir", "-p", "-m", "0700", r.replacedData()); err != nil {
		return err
	}
	if err := moveIfExists(ctx, n, memberData, r.replacedData()+"/member"); err != nil {
		return err
	}
	return n.Root().Run(ctx, "mv", "-f", "--", restored+"/member", memberData)
}

// RemoveSnapshot removes the snapshot from a node. The data before the restore stay.
func RemoveSnapshot(ctx context.Context, n mgmt.Node) error {
	return n.Root().Run(ctx, "rm", "-rf", "--", restoreData)
}
