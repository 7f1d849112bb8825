package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
)

// ErrVolumeBound reports that a persistent volume is bound to a claim, so that pods may use it. A retry helps after the
// claim was deleted.
var ErrVolumeBound = errors.New("cluster: the persistent volume is bound to a claim")

var volumeKind = named["persistentvolume"]

// volumes reads the persistent volumes of these names; those that are not there are left out.
func (s *session) volumes(ctx context.Context, names []string) ([]corev1.PersistentVolume, error) {
	var out []corev1.PersistentVolume
	for _, name := range names {
		found, err := s.Objects(volumeKind, "").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var v corev1.PersistentVolume
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.UnstructuredContent(), &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// LocalVolume is a persistent volume on the disk of a node that a claim uses, or has used.
type LocalVolume struct {
	Name  string
	Claim string   // as namespace/name
	Hosts []string // values of the node label kubernetes.io/hostname; empty: the volume may be on each node (hostPath)
}

// IsOn reports whether the volume may be on a node.
func (v LocalVolume) IsOn(n Node) bool {
	return len(v.Hosts) == 0 || slices.Contains(v.Hosts, cmp.Or(n.Labels[corev1.LabelHostname], n.Name))
}

// LocalVolumes returns the persistent volumes on disks of nodes (local, hostPath), except those that no claim has used.
func (c *Cluster[R]) LocalVolumes(ctx context.Context) (out []LocalVolume, err error) {
	return out, c.on(ctx, func(ctx context.Context, s *session) error {
		found, err := s.Objects(volumeKind, "").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		out = nil
		for _, item := range found.Items {
			var v corev1.PersistentVolume
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.UnstructuredContent(), &v); err != nil {
				return err
			}
			if claim := v.Spec.ClaimRef; claim != nil && (v.Spec.Local != nil || v.Spec.HostPath != nil) {
				out = append(out, LocalVolume{Name: v.Name, Claim: claim.Namespace + "/" + claim.Name, Hosts: hostsOf(v.Spec.NodeAffinity)})
			}
		}
		return nil
	})
}

// hostsOf returns the names of hosts in a node affinity.
func hostsOf(affinity *corev1.VolumeNodeAffinity) (hosts []string) {
	if affinity == nil || affinity.Required == nil {
		return nil
	}
	for _, term := range affinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if e.Key == corev1.LabelHostname && e.Operator == corev1.NodeSelectorOpIn {
				hosts = append(hosts, e.Values...)
			}
		}
	}
	return hosts
}

// RemoveVolumes deletes unused persistent volumes, and returns when they no longer exist. A volume that does not exist
// is not an error. If one of them is bound to a claim, none is deleted, and the error is ErrVolumeBound with the names
// of the claims. A volume that becomes bound meanwhile is not deleted either.
func (c *Cluster[R]) RemoveVolumes(ctx context.Context, names ...string) error {
	return c.poll(ctx, "the persistent volumes to be deleted", func(ctx context.Context, s *session) error {
		volumes, err := s.volumes(ctx, names)
		if err != nil {
			return permanent(err)
		}
		if err := unbound(volumes); err != nil {
			return permanentError{err}
		}
		var errs []error
		for _, v := range volumes {
			errs = append(errs, fmt.Errorf("the persistent volume %s is still there", v.Name))
			if v.DeletionTimestamp != nil {
				continue
			}
			// The precondition detects a volume that became bound meanwhile: it has another version (409, then it is
			// read again).
			err := s.Objects(volumeKind, "").Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID, ResourceVersion: &v.ResourceVersion}})
			if err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, permanent(err))
			}
		}
		return errors.Join(errs...)
	})
}

func unbound(volumes []corev1.PersistentVolume) error {
	var errs []error
	for _, v := range volumes {
		if v.Status.Phase != corev1.VolumeBound {
			continue
		}
		claim := "unknown"
		if ref := v.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		errs = append(errs, fmt.Errorf("%w: %s to %s", ErrVolumeBound, v.Name, claim))
	}
	return errors.Join(errs...)
}

// WaitVolumes waits until each of these persistent volumes is Available or Bound. It calls report with the reasons,
// when they change.
func (c *Cluster[R]) WaitVolumes(ctx context.Context, names []string, report func(string)) error {
	told := ""
	return c.poll(ctx, "all persistent volumes to be Available", func(ctx context.Context, s *session) error {
		volumes, err := s.volumes(ctx, names)
		if err != nil {
			return permanent(err)
		}
		if n := len(names) - len(volumes); n > 0 {
			return fmt.Errorf("%d of the persistent volumes are not there", n)
		}
		var blocking []error
		for _, v := range volumes {
			switch v.Status.Phase {
			case corev1.VolumeAvailable, corev1.VolumeBound:
			case corev1.VolumeFailed:
				return permanentError{fmt.Errorf("cluster: the persistent volume %s has failed: %s", v.Name, answerlimit.Shorten(v.Status.Message))}
			default:
				blocking = append(blocking, fmt.Errorf("the persistent volume %s is %s", v.Name, v.Status.Phase))
			}
		}
		if len(blocking) > 0 && blocking[0].Error() != told {
			told = blocking[0].Error()
			report(told)
		}
		return errors.Join(blocking...)
	})
}
