package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/sshexec"
)

// backups are the directories into which "kubeadm upgrade" moves the manifests and copies the data of etcd. It keeps them.
const backups = directory + "tmp/kubeadm-backup-"

// restoreManifests puts manifests back that kubeadm has moved away and not replaced. Without the manifest of the API server "kubeadm
// upgrade node" takes the machine for a worker and succeeds. The newest backup is of the last run: RemoveBackups follows on success.
const restoreManifests sshexec.Shell = `newest=
for dir in ` + backups + `manifests-*; do [ -d "$dir" ] && newest=$dir; done
[ -n "$newest" ] || exit 0
for pod in etcd kube-apiserver kube-controller-manager kube-scheduler; do
	[ ! -e ` + directory + `manifests/$pod.yaml ] && [ -e "$newest/$pod.yaml" ] || continue
	cp -p "$newest/$pod.yaml" ` + directory + `.vnfkit-$pod && mv ` + directory + `.vnfkit-$pod ` + directory + `manifests/$pod.yaml || exit 1
	echo "$pod"
done`

// RestoreManifests repairs a control-plane node on which an upgrade was ended, and returns the names of the static pods whose manifests were
// missing. No kubeadm may run on the node.
func RestoreManifests(ctx context.Context, n mgmt.Node) (pods string, err error) {
	out, err := n.Root().Output(ctx, sshexec.Command{Shell: restoreManifests})
	return strings.Join(strings.Fields(string(out)), ", "), err
}

// RemoveBackups deletes the manifests and the copies of etcd's data that upgrades have kept. Each run of kubeadm adds another copy.
func RemoveBackups(ctx context.Context, n mgmt.Node) error {
	return n.Root().Exec(ctx, sshexec.Command{Shell: "rm -rf " + backups + "manifests-* " + backups + "etcd-*"})
}

// UpgradeOptions are options of "kubeadm upgrade".
type UpgradeOptions struct {
	Ignore  []string // names of kubeadm's checks
	Patches bool     // the node has the patches of the user, which kubeadm stores nowhere
}

// TryUpgrade checks whether "kubeadm upgrade apply" would succeed on the first control-plane node. It changes nothing.
func TryUpgrade(ctx context.Context, n mgmt.Node, version string, o UpgradeOptions) error {
	return runUpgrade(ctx, n, o, "apply", "v"+version, "--yes", "--dry-run")
}

// ApplyUpgrade upgrades the first control-plane node, and the configuration that the cluster stores.
func ApplyUpgrade(ctx context.Context, n mgmt.Node, version string, o UpgradeOptions) error {
	return runUpgrade(ctx, n, o, "apply", "v"+version, "--yes")
}

// UpgradeControlPlane upgrades another control-plane node to the version that the cluster stores.
func UpgradeControlPlane(ctx context.Context, n mgmt.Node, o UpgradeOptions) error {
	for _, pod := range []string{StaticEtcd, StaticAPIServer, StaticControllerManager, StaticScheduler} {
		found, err := n.Root().Succeeds(ctx, "test", "-e", manifestOf(pod))
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("kubeadm: %s has no manifest %s: kubeadm would take it for a worker", n.Label(), manifestOf(pod))
		}
	}
	return runUpgrade(ctx, n, o, "node")
}

// UpgradeWorker writes the configuration of a worker's kubelet.
func UpgradeWorker(ctx context.Context, n mgmt.Node, o UpgradeOptions) error {
	return runUpgrade(ctx, n, o, "node")
}

func runUpgrade(ctx context.Context, n mgmt.Node, o UpgradeOptions, words ...string) error {
	argv := slices.Concat([]string{"flock", lock, "kubeadm", "upgrade"}, words)
	if len(o.Ignore) > 0 {
		argv = append(argv, "--ignore-preflight-errors="+strings.Join(o.Ignore, ","))
	}
	if o.Patches {
		argv = append(argv, "--patches="+PatchesDirectory)
	}
	return jointoken.Masked(n.Root().Run(ctx, argv...)) // the reason is not in the last line of what kubeadm says
}

// SetTag replaces the tag of the image of a static pod in its manifest, as Mark replaces an annotation.
func SetTag(ctx context.Context, n mgmt.Node, pod, tag string) error {
	root, err := readManifest(ctx, n, pod)
	if err != nil {
		return err
	}
	containers := child(child(root, "spec"), "containers")
	if containers == nil || containers.Kind != yaml.SequenceNode || len(containers.Content) == 0 || child(containers.Content[0], "image") == nil {
		return fmt.Errorf("kubeadm: %s: %s names no image", n.Label(), manifestOf(pod))
	}
	image := child(containers.Content[0], "image")
	name, _, _ := strings.Cut(image.Value, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	image.SetString(name + ":" + tag)
	text, err := Marshal(root)
	if err != nil {
		return err
	}
	return n.Root().Write(ctx, manifestOf(pod), text, 0o600)
}

// Directories that an upgrade writes the data of etcd into: kubeadm a copy of the files, the driver a snapshot.
const (
	etcdData     = "/var/lib/etcd"
	snapshotData = "/var/lib"
)

// CheckSpace returns an error if a control-plane node lacks space for a copy of etcd's data and a snapshot of it.
func CheckSpace(ctx context.Context, n mgmt.Node) error {
	used, err := n.Root().Number(ctx, "du", "-s", "-B1", etcdData)
	if err != nil {
		return err
	}
	for _, dir := range []string{directory, snapshotData} {
		free, err := n.Root().Number(ctx, "df", "-B1", "--output=avail", dir)
		if err != nil {
			return err
		}
		if free < 2*used {
			return fmt.Errorf("%s has %d MiB free in %s, and %s has %d MiB: an upgrade copies it twice", n.Label(), free>>20, dir, etcdData, used>>20)
		}
	}
	return nil
}
