package kubeadm_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
)

// archives returns an empty folder for snapshots.
func archives(t testing.TB, recovery ...string) *snapshots.Archives {
	t.Helper()
	a, err := snapshots.New(snapshots.Directory(t.TempDir()), recovery...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// saved takes a snapshot, which must succeed.
func (l *lab) saved(id string) *vnflcm.VnfSnapshot {
	l.t.Helper()
	info, err := l.CreateSnapshotInfo(l.t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.Must(l.CreateSnapshot(l.t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info.ID}))
	if info, err = l.Manager.Snapshot(l.t.Context(), info.ID); err != nil {
		l.t.Fatal(err)
	}
	return info.VnfSnapshot
}

// filesOn returns the files of a machine outside of /proc.
func filesOn(t *testing.T, files afero.Fs) (names []string) {
	t.Helper()
	err := afero.Walk(files, "/", func(name string, info fs.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.HasPrefix(name, "/proc") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestSnapshot takes snapshots of a cluster: with all members, and with one member of three. They have all files, as they are on the node, and
// open with the recovery key. Nothing is left on the machines.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	secret, public, err := snapshots.NewRecoveryKey()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	kept, err := snapshots.New(snapshots.Directory(folder), public)
	if err != nil {
		t.Fatal(err)
	}
	l := openLab(t, setup{snapshots: kept, driver: kubeadm.Config{Scratch: t.TempDir()}})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 1))...)
	for _, name := range []string{"masterNode-0", "masterNode-1", "masterNode-2"} {
		l.encrypt(name)
	}
	before := filesOn(t, l.host("masterNode-0").FS())
	s := l.saved(id)
	if diff := cmp.Diff(before, filesOn(t, l.host("masterNode-0").FS())); diff != "" {
		t.Errorf("files on the node:\n%s", diff)
	}
	if s.About["kubernetes"] == "" || s.About["etcd"] == "" || s.About["node"] == "" || s.About["etcdRevision"] == "" || s.About["etcdBytes"] == "" {
		t.Errorf("the snapshot tells %v", s.About)
	}
	content := extract(t, folder, secret)
	for _, name := range []string{"pki/ca.key", "pki/sa.key", "pki/sa.pub", "pki/front-proxy-ca.key", "pki/etcd/ca.key", "pki/etcd/ca.crt", "manifests/kube-apiserver.yaml",
		"manifests/etcd.yaml", "patches/kube-apiserver.yaml", "encryption/config.yaml"} {
		want, err := afero.ReadFile(l.host("masterNode-0").FS(), "/etc/kubernetes/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if got := content["files/etc/kubernetes/"+name]; !bytes.Equal(got, want) {
			t.Errorf("%s of the snapshot has %d bytes, and %d on the node", name, len(got), len(want))
		}
	}
	var about struct{ Format int }
	if err := json.Unmarshal(content["snapshot.json"], &about); err != nil || about.Format != 1 || len(content["etcd/snapshot.db"]) == 0 {
		t.Errorf("the format is %d: %v", about.Format, err)
	}
	for _, name := range []string{"masterNode-0", "masterNode-2"} {
		if err := l.World.Stop(name); err != nil {
			t.Fatal(err)
		}
	}
	if s := l.saved(id); s.About["kubernetes"] != "" || s.About["etcd"] == "" {
		t.Errorf("a snapshot without quorum tells %v", s.About)
	}
	if err := l.World.Stop("masterNode-1"); err != nil {
		t.Fatal(err)
	}
	info, err := l.CreateSnapshotInfo(t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	opID, err := l.CreateSnapshot(t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info.ID})
	occ, err := l.End(opID, err)
	if occ.OperationState != vnflcm.Failed || err == nil || !strings.Contains(err.Error(), "etcd answers on no control-plane node") {
		t.Errorf("without a member: %s, %v", occ.OperationState, err)
	}
	l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
}

// encrypt gives a control-plane node a configuration of encryption at rest outside of its PKI, and a patch of kubeadm.
func (l *lab) encrypt(machine string) {
	l.t.Helper()
	files := l.host(machine).FS()
	const manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	text, err := afero.ReadFile(files, manifest)
	if err != nil {
		l.t.Fatal(err)
	}
	pod := strings.Replace(string(text), "    name: kube-apiserver\n", `    name: kube-apiserver
    command: [kube-apiserver, --encryption-provider-config=/etc/kubernetes/encrypt/config.yaml, --a-folder=/etc/kubernetes/encrypt, --v=1]
    volumeMounts: [{name: encryption, mountPath: /etc/kubernetes/encrypt}]
`, 1)
	pod = strings.Replace(pod, "  hostNetwork: true\n", "  hostNetwork: true\n  volumes: [{name: encryption, hostPath: {path: /etc/kubernetes/encryption}}]\n", 1)
	for name, content := range map[string]string{manifest: pod, "/etc/kubernetes/encryption/config.yaml": "kind: EncryptionConfiguration\n", "/etc/kubernetes/patches/kube-apiserver.yaml": "spec: {}\n"} {
		if err := errors.Join(files.MkdirAll(path.Dir(name), 0o700), afero.WriteFile(files, name, []byte(content), 0o600)); err != nil {
			l.t.Fatal(err)
		}
	}
}

// extract returns the files of the only archive in a folder.
func extract(t *testing.T, folder string, recovery vnflcm.Secret) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*", "*", "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("archives: %v, %v", names, err)
	}
	file, err := os.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	clear, err := snapshots.Decrypt(file, strings.NewReader(recovery.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	return filesOf(t, clear)
}

func filesOf(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	content := map[string][]byte{}
	for files := tar.NewReader(from); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return content
		}
		if err == nil {
			content[head.Name], err = io.ReadAll(files)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// recording keeps the archive of the last snapshot in clear.
type recording struct {
	vnflcm.Snapshots

	archive *bytes.Buffer
}

func (r recording) Create(ctx context.Context, at vnflcm.SnapshotPlace) (vnflcm.SnapshotArchive, error) {
	a, err := r.Snapshots.Create(ctx, at)
	r.archive.Reset()
	return recordedArchive{a, r.archive}, err
}

type recordedArchive struct {
	vnflcm.SnapshotArchive

	to *bytes.Buffer
}

func (r recordedArchive) Write(p []byte) (int, error) {
	r.to.Write(p)
	return r.SnapshotArchive.Write(p)
}

// TestDamagedArchives changes the archive of a snapshot: each damage fails the test of the driver.
func TestDamagedArchives(t *testing.T) {
	t.Parallel()
	kept := recording{archives(t), new(bytes.Buffer)}
	l := openLab(t, setup{snapshots: kept})
	l.saved(l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1)))
	whole := kept.archive.Bytes()
	driver := kubeadm.New(kubeadm.Config{Pool: nil, Scratch: t.TempDir()})
	test := func(archive []byte) error {
		_, err := driver.TestSnapshot(t.Context(), &vnflcm.Operation{Log: slog.New(slog.DiscardHandler)}, tar.NewReader(bytes.NewReader(archive)))
		return err
	}
	if err := test(whole); err != nil {
		t.Fatal(err)
	}
	edit := func(change func(name string, content []byte) []byte) []byte {
		var out bytes.Buffer
		to := tar.NewWriter(&out)
		content := filesOf(t, bytes.NewReader(whole))
		var names []string
		for files := tar.NewReader(bytes.NewReader(whole)); ; {
			head, err := files.Next()
			if err != nil {
				break
			}
			names = append(names, head.Name)
		}
		for _, name := range names {
			text := change(name, bytes.Clone(content[name]))
			if text == nil {
				continue
			}
			if err := errors.Join(to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))})); err != nil {
				t.Fatal(err)
			}
			if _, err := to.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	without := func(file string) []byte {
		return edit(func(name string, content []byte) []byte {
			if name == file {
				return nil
			}
			return content
		})
	}
	with := func(file string, damage func([]byte) []byte) []byte {
		return edit(func(name string, content []byte) []byte {
			if name == file {
				return damage(content)
			}
			return content
		})
	}
	const data = "etcd/snapshot.db"
	for name, archive := range map[string][]byte{
		"empty": nil, "cut": whole[:len(whole)-20_000], "without about": without("snapshot.json"), "without etcd": without(data),
		"without sa.key": without("files/etc/kubernetes/pki/sa.key"), "without a manifest": without("files/etc/kubernetes/manifests/etcd.yaml"),
		"another format": with("snapshot.json", func([]byte) []byte { return []byte(`{"format":2}`) }),
		"another CA":     with("files/etc/kubernetes/pki/etcd/ca.key", func([]byte) []byte { return filesOf(t, bytes.NewReader(whole))["files/etc/kubernetes/pki/ca.key"] }),
		"etcd altered":   with(data, func(b []byte) []byte { b[5000]++; return b }),
		"etcd cut":       with(data, func(b []byte) []byte { return b[:len(b)-1000] }),
	} {
		if err := test(archive); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// failing is a storage that has no space. It records the times by which files must be complete.
type failing struct {
	snapshots.Storage

	deadlines chan time.Time
}

func (f failing) Create(ctx context.Context, _ string) (snapshots.File, error) {
	deadline, _ := ctx.Deadline()
	f.deadlines <- deadline
	return nil, errors.New("no space left")
}

// fullStorage returns a storage of snapshots that has no space.
func fullStorage(t testing.TB, deadlines chan time.Time) *snapshots.Archives {
	t.Helper()
	full, err := snapshots.New(failing{snapshots.Directory(t.TempDir()), deadlines})
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// TestSnapshotBefore takes snapshots before operations: an upgrade stops without one, unless the request passes the check over, and a heal does not.
func TestSnapshotBefore(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), oldVersion(t), clustertest.Sized("complex", 0))...)
	from := l.Snapshot()
	deadlines := make(chan time.Time, 10)
	full := fullStorage(t, deadlines)
	causes := func(l *lab) (ids []string) {
		page, err := l.Snapshots(t.Context(), vnflcm.SnapshotQuery{InstanceID: id})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Items {
			if s.VnfSnapshot.Cause != vnflcm.SnapshotBefore {
				t.Errorf("%+v", s.VnfSnapshot)
			}
			ids = append(ids, s.ID)
		}
		return ids
	}
	heal := func(l *lab) *vnflcm.VnfLcmOpOcc {
		opID, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")})
		occ, err := l.End(opID, err)
		if err != nil {
			t.Fatal(err)
		}
		return occ
	}
	warned := func(occ *vnflcm.VnfLcmOpOcc) bool {
		return slices.ContainsFunc(occ.Warnings, func(w string) bool { return strings.Contains(w, "no space left") })
	}

	well := openLab(t, setup{from: from, snapshots: archives(t)})
	well.upgrade(id, `{"kubernetes_version":"1.36.3"}`)
	if exists, _ := afero.Exists(well.host("masterNode-0").FS(), "/var/lib/vnfkit/etcd-before-1.36.3.db"); exists {
		t.Error("the snapshot of the upgrade is on the node, too")
	}
	if warned(heal(well)) || len(causes(well)) != 2 {
		t.Errorf("snapshots: %v", causes(well))
	}

	const install = 5 * time.Minute
	stopped := openLab(t, setup{from: from, snapshots: full, driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Install: install}}})
	begun := time.Now()
	if !warned(heal(stopped)) || len(causes(stopped)) != 0 {
		t.Error("a heal without a snapshot has no warning, or a snapshot")
	}
	if deadline := <-deadlines; deadline.Before(begun.Add(install + time.Minute)) {
		t.Errorf("the snapshot has time until %v: a heal with a short Install would fail by it", deadline)
	}
	opID, err := stopped.Maintain(t.Context(), id, upgrading(t, `{"kubernetes_version":"1.36.3"}`))
	if err := stopped.Fails(opID, err); !strings.Contains(err.Error(), "the check snapshot") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("an upgrade without a snapshot: %v", err)
	}
	if err := stopped.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	opID, err = stopped.Maintain(vnflcm.WithSender(t.Context(), "night-shift"), id, upgrading(t, `{"kubernetes_version":"1.36.3","upgrade":{"pass_over":["snapshot"]}}`))
	occ, err := stopped.End(opID, err)
	if err != nil || !warned(occ) || !slices.ContainsFunc(occ.Warnings, func(w string) bool { return strings.Contains(w, "by the request of night-shift: snapshot") }) {
		t.Errorf("the document of the upgrade: %v, %v", occ.Warnings, err)
	}

	stopped.Onboard(secondPackage(t, packageDir, []string{"masterNode"}))
	opID, err = stopped.ChangeVnfPkg(t.Context(), id, changing(t, `{}`))
	if err := stopped.Fails(opID, err); !strings.Contains(err.Error(), "the check snapshot (change_pass_over)") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a change without a snapshot: %v", err)
	}
	stopped.RollBack(opID)
	opID, err = stopped.ChangeVnfPkg(vnflcm.WithSender(t.Context(), "night-shift"), id, changing(t, `{"change_pass_over": ["snapshot"]}`))
	occ, err = stopped.End(opID, err)
	if err != nil || !warned(occ) || !slices.ContainsFunc(occ.Warnings, func(w string) bool { return strings.Contains(w, "by the request of night-shift: snapshot") }) {
		t.Errorf("the document of the change: %v, %v", occ.Warnings, err)
	}
}
