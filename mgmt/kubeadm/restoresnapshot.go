package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// findSnapshot returns the snapshot that a request names by its id, or the newest one that can be read.
func findSnapshot(ctx context.Context, op *vnflcm.Operation, restore string) (*vnflcm.VnfSnapshot, error) {
	list, err := op.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	reason := "must be survivor, latest, none or the id of a snapshot of this VNF instance"
	if restore == restoreLatest {
		reason = "needs a snapshot of the VNF instance, and the VNFM has none that can be read"
	}
	fault := &vnflcm.ParamError{Path: "additionalParams.restore", Value: restore, Reason: reason}
	if op.RevertToSnapshot != nil {
		fault.Path, fault.Reason = "vnfSnapshotInfoId", "must be a snapshot of this VNF instance that can be read"
	}
	for i := range list {
		if restore != restoreLatest && restore != list[i].ID {
			continue
		}
		err := openArchive(ctx, op, list[i].ID, func(io.Reader, []controlplane.File) error { return nil })
		switch {
		case err == nil:
			return &list[i], nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		fault.Reason += fmt.Sprintf("; snapshot %s: %v", list[i].ID, err)
	}
	return nil, fault
}

// openArchive calls do with the data of etcd and the files of a snapshot.
func openArchive(ctx context.Context, op *vnflcm.Operation, id string, do func(etcd io.Reader, files []controlplane.File) error) error {
	from, err := op.OpenSnapshot(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	archive := snapshotArchive{Reader: from.Reader}
	if _, err := archive.begin(); err != nil {
		return err
	}
	files, err := archive.files()
	if err == nil {
		err = controlplane.CheckFiles(files)
	}
	if err != nil {
		return err
	}
	return do(archive, files)
}

// readSnapshot calls do with the snapshot that heal_start has chosen, if there is one.
func (e *environment) readSnapshot(ctx context.Context, do func(etcd io.Reader, files []controlplane.File) error) error {
	if id := e.restored.Of("").Snapshot; id != "" {
		return openArchive(ctx, e.op, id, do)
	}
	return nil
}

// chooseSnapshot tests the snapshot again, checks the nodes that stay, and returns what is lost. The members of etcd on them need not run.
func (e *environment) chooseSnapshot(ctx context.Context, out *restoreRecord) (loss string, err error) {
	s, err := findSnapshot(ctx, e.op, restoreParamOf(e.op).Restore)
	if err != nil {
		return "", err
	}
	e.op.Report(ctx, "testing snapshot "+s.ID)
	if err := e.testAgain(ctx, s.ID); err != nil {
		return "", fmt.Errorf("kubeadm: snapshot %s, which has passed its test before: %w", s.ID, err)
	}
	staying := clusternodes.Without(e.nodes(), e.replaced(e.nodes()))
	out.Snapshot, out.Version, out.Lost = s.ID, s.About["kubernetes"], append(out.Lost, formerAddresses(s.VnfInstance)...)
	again, err := e.choosePresent(ctx, staying, out)
	if err != nil {
		return "", err
	}
	asked := clusternodes.Among(staying, vnfcsOf(e.controlPlane))
	survivors := lookAtSurvivors(ctx, e.config.Parallel, asked)
	size, _ := strconv.ParseInt(s.About["etcdBytes"], 10, 64) // 0: not known
	findings := []error{e.refuseQuorum(ctx, survivors, again), e.refuseRestore(ctx, checkVersion, e.otherVersion(out.Version))}
	for _, n := range asked {
		if slices.ContainsFunc(out.Members, func(m controlplane.RestoredMember) bool { return m.VNFC == n.ID }) {
			findings = append(findings, e.refuseRestore(ctx, checkSpace, controlplane.CheckRestoreSpace(ctx, n, size)))
		}
	}
	findings = append(findings, openArchive(ctx, e.op, s.ID, func(_ io.Reader, files []controlplane.File) error {
		return e.checkAuthorities(ctx, staying, files)
	}))
	return lossAfter(s, latestOf(survivors)), errors.Join(findings...)
}

func (e *environment) testAgain(ctx context.Context, id string) error {
	from, err := e.op.OpenSnapshot(ctx, id)
	if err != nil {
		return err
	}
	_, err = e.testArchive(ctx, from.Reader)
	return errors.Join(err, from.Finish(), from.Close())
}

// choosePresent adds the members on control-plane nodes that answer. again: an earlier restore was given up on one of them.
func (e *environment) choosePresent(ctx context.Context, staying []mgmt.Node, out *restoreRecord) (again bool, err error) {
	if e.shape.Rebuilds {
		return false, nil
	}
	for _, n := range clusternodes.Among(staying, vnfcsOf(e.controlPlane)) {
		fault, err := clusternodes.Answers(ctx, n)
		if err != nil {
			return false, err
		}
		stopped := false
		if fault != nil && e.op.RevertToSnapshot != nil {
			return false, fmt.Errorf("kubeadm: %s does not answer, and could go on with other data: heal its VNFC first; if etcd has no quorum, heal it with restore %s instead of this request: %w", n.Label(), out.Snapshot, fault)
		}
		if fault == nil {
			out.Members = append(out.Members, controlplane.MemberOn(n))
			stopped, fault = controlplane.IsStopped(ctx, n)
		}
		if err := e.refuseRestore(ctx, checkSurvivors, fault); err != nil {
			return false, err
		}
		again = again || stopped
	}
	if len(out.Members) == 0 {
		return false, errors.New("kubeadm: no control-plane node that stays answers: name all of them (vnfcInstanceId)")
	}
	return again, nil
}

// otherVersion returns an error if the snapshot has another version of Kubernetes than the cluster.
func (e *environment) otherVersion(version string) error {
	if version == "" || e.p.ScriptPath != "" || version == e.p.KubernetesVersion {
		return nil
	}
	return fmt.Errorf("the snapshot has Kubernetes %s, and the nodes have %s", version, e.p.KubernetesVersion)
}

// checkAuthorities compares the CA of nodes that stay with that of the snapshot. Machines that do not answer are left out.
func (e *environment) checkAuthorities(ctx context.Context, staying []mgmt.Node, files []controlplane.File) error {
	var findings []error
	for _, n := range staying {
		err := controlplane.CheckAuthority(ctx, n, files, e.isControlPlane(n))
		if !clusternodes.Unreachable(ctx, err) {
			findings = append(findings, err)
		}
	}
	return e.refuseRestore(ctx, checkAuthority, errors.Join(findings...))
}

// formerAddresses returns the addresses of the machines that an instance had.
func formerAddresses(of *vnflcm.VnfInstance) (out []netip.Addr) {
	if of == nil || of.InstantiatedVnfInfo == nil {
		return nil
	}
	for _, v := range of.InstantiatedVnfInfo.VnfcResourceInfo {
		for _, cp := range v.VnfcCpInfo {
			for _, protocol := range cp.CpProtocolInfo {
				if protocol.IPOverEthernet == nil {
					continue
				}
				for _, info := range protocol.IPOverEthernet.IPAddresses {
					for _, text := range info.Addresses {
						if addr, err := netip.ParseAddr(text); err == nil {
							out = append(out, addr)
						}
					}
				}
			}
		}
	}
	return out
}

func vnfcsOf(nodes []mgmt.Node) (out []vnflcm.VNFC) {
	for _, n := range nodes {
		out = append(out, n.VNFC)
	}
	return out
}

// age returns how long ago the data of a snapshot were current, by the clock of the VNFM.
func age(s *vnflcm.VnfSnapshot) time.Duration {
	return time.Since(s.CreationStartedAt).Round(time.Second)
}

// lossAfter says what a restore from a snapshot gives up. latest is a member that answers, nil without one.
func lossAfter(s *vnflcm.VnfSnapshot, latest *survivor) string {
	text := fmt.Sprintf("etcd is restored from snapshot %s of %s, taken %s ago at revision %s: every later change is lost, also if clients know it as stored",
		s.ID, s.About["node"], age(s), s.About["etcdRevision"])
	if latest == nil {
		return text
	}
	revision, _ := strconv.ParseInt(s.About["etcdRevision"], 10, 64)
	if latest.member.Revision > revision {
		text += fmt.Sprintf(". %s has later data, at revision %d, which this restore gives up", latest.node.Name, latest.member.Revision)
	}
	return text
}

// restoreFiles gives a control-plane node the files of the user, if all control-plane nodes are made again. The keys of encryption at rest can be other
// ones than those of the request.
func restoreFiles(ctx context.Context, e *environment, n mgmt.Node) error {
	if !e.shape.Rebuilds {
		return nil
	}
	return e.readSnapshot(ctx, func(_ io.Reader, files []controlplane.File) error {
		return controlplane.WriteFiles(ctx, n, controlplane.UserFiles(files))
	})
}

// placeSnapshot gives the first control-plane node the authorities, the files of the user and the data of the snapshot. kubeadm init uses what it
// finds.
func placeSnapshot(ctx context.Context, e *environment, n mgmt.Node) error {
	restore := e.restored.Of("").restore()
	restore.Members = []controlplane.RestoredMember{controlplane.MemberOn(n)}
	e.op.Report(ctx, "writing the snapshot onto "+n.Label())
	err := e.readSnapshot(ctx, func(data io.Reader, files []controlplane.File) error {
		if err := controlplane.MakeDataDirectory(ctx, n); err != nil {
			return err
		}
		if err := controlplane.WriteFiles(ctx, n, slices.Concat(controlplane.Authorities(files), controlplane.UserFiles(files))); err != nil {
			return err
		}
		return controlplane.WriteSnapshot(ctx, n, data)
	})
	if err != nil {
		return err
	}
	images, err := e.nodeImages(ctx, n)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(images, func(image string) bool { return nameOf(image) == controlplane.StaticEtcd })
	if i < 0 {
		return fmt.Errorf("kubeadm: kubeadm lists no image of etcd: %s", strings.Join(images, ", "))
	}
	if err := restore.UnpackWith(ctx, n, images[i]); err != nil {
		return err
	}
	if err := controlplane.Place(ctx, n); err != nil {
		return err
	}
	return controlplane.RemoveSnapshot(ctx, n)
}
