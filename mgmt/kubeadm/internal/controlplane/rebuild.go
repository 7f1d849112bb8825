package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
)

// HasEtcdData is kubeadm's name of the check that the machine has no data of etcd.
const HasEtcdData = "DirAvailable--var-lib-etcd"

// MemberOn returns the member of etcd that kubeadm makes on a node.
func MemberOn(n mgmt.Node) RestoredMember {
	return RestoredMember{VNFC: n.ID, Name: n.HostName, PeerURL: "https://" + netip.AddrPortFrom(n.IP, peerPort).String()}
}

// peerPort is the port of etcd for other members.
const peerPort = 2380

// MakeDataDirectory makes the data directory of etcd on a new machine. Only root can read it.
func MakeDataDirectory(ctx context.Context, n mgmt.Node) error {
	return n.Root().Run(ctx, "mkdir", "-p", "-m", "0700", etcdData)
}

// authorities are the files from which kubeadm makes the other files of the PKI, in the folder pki.
var authorities = []string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key", "sa.key", "sa.pub"}

// Authorities returns the authorities of the cluster and the keys of its service accounts: a control plane that is made with them continues the
// cluster.
func Authorities(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return !isAuthority(f) })
}

func isAuthority(f File) bool {
	return slices.Contains(authorities, strings.TrimPrefix(f.Path, pkiDirectory+"/"))
}

// ownFiles are files of a single node, which kubeadm makes.
var ownFiles = []string{pkiDirectory + "/apiserver*", pkiDirectory + "/front-proxy-client.*", pkiDirectory + "/etcd/*", manifestDirectory + "/*", directory + "*.conf"}

// UserFiles returns the files that the user has given to each control-plane node, such as the keys of encryption at rest and patches.
func UserFiles(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool {
		return isAuthority(f) || slices.ContainsFunc(ownFiles, func(pattern string) bool {
			own, _ := path.Match(pattern, f.Path) // the patterns are correct
			return own
		})
	})
}

// CheckAuthority returns an error if a node belongs to another cluster than the files.
func CheckAuthority(ctx context.Context, n mgmt.Node, files []File, controlPlane bool) error {
	names := []string{pkiDirectory + "/ca.crt"}
	if controlPlane {
		names = append(names, pkiDirectory+"/sa.pub")
	}
	for _, f := range files {
		if !slices.Contains(names, f.Path) {
			continue
		}
		content, err := n.Root().ReadFile(ctx, f.Path)
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(content)) != strings.TrimSpace(string(f.Content)) {
			return fmt.Errorf("%s has another %s than the snapshot: it belongs to a cluster that was made later or earlier", n.Label(), f.Path)
		}
	}
	return nil
}

// EtcdImage returns the image of etcd in the manifest of a node, also if a restore has stopped etcd.
func EtcdImage(ctx context.Context, n mgmt.Node) (string, error) {
	text, found, err := n.Root().Read(ctx, manifestOf(StaticEtcd))
	if err == nil && !found {
		text, err = n.Root().ReadFile(ctx, parkedManifest(StaticEtcd))
	}
	if err != nil {
		return "", err
	}
	var pod struct {
		Spec struct{ Containers []struct{ Image string } }
	}
	if err := yaml.Unmarshal(text, &pod); err != nil || len(pod.Spec.Containers) == 0 {
		return "", errors.Join(fmt.Errorf("kubeadm: %s: %s is no manifest of a pod", n.Label(), manifestOf(StaticEtcd)), err)
	}
	return pod.Spec.Containers[0].Image, nil
}

// restoredMark is on a node whose control plane was made with the data of a snapshot. It has the id of the operation.
const restoredMark = directory + "vnfkit-restored"

// MarkRestored notes that kubeadm init has ended on a node that began with data.
func (r Restore) MarkRestored(ctx context.Context, n mgmt.Node) error {
	return n.Root().Write(ctx, restoredMark, []byte(r.ID+"\n"), 0o600)
}

// IsMarked reports whether MarkRestored has been called.
func (r Restore) IsMarked(ctx context.Context, n mgmt.Node) (bool, error) {
	text, found, err := n.Root().Read(ctx, restoredMark)
	return found && string(text) == r.ID+"\n", err
}
