package kubespray

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func runRecordSettings(ctx context.Context, d *deployment, _ mgmt.Node) error {
	settings := clusterparam.Settings{PodCIDR: d.p.Master.PodCIDR, ClusterCIDR: d.p.Master.ClusterCIDR}
	return settings.Record(ctx, d.op)
}

// runFindFacts finds the playbook that gathers facts, whose path depends on kubespray's release.
func runFindFacts(ctx context.Context, d *deployment, _ mgmt.Node) (err error) {
	d.facts, err = vnflcm.Run(ctx, d.op, vnflcm.Step[string]{Name: "find-facts", Do: func(ctx context.Context) (string, error) {
		for _, name := range []string{"playbooks/facts.yml", "facts.yml"} {
			name = d.p.Ansible.Root + "/" + name
			there, err := holds(ctx, d.server.Host, "test", "-f", name)
			if there || err != nil {
				return name, err
			}
		}
		return "", nil
	}})
	return err
}

func runGatherFacts(ctx context.Context, d *deployment, _ mgmt.Node) error {
	if d.facts == "" {
		return nil
	}
	return d.run(ctx, play{step: "facts", playbook: d.facts})
}

// runJoinWorkers runs scale.yml on the new nodes. The limit prevents it from gathering facts of the other nodes.
func runJoinWorkers(ctx context.Context, d *deployment, _ mgmt.Node) error {
	return d.run(ctx, play{step: "scale", playbook: d.p.Ansible.Root + "/" + scalePlaybook, limit: d.joining()})
}

func runAwaitReady(ctx context.Context, d *deployment, _ mgmt.Node) error {
	return clusternodes.AwaitReady(ctx, d.op, d.kube, d.joining(), d.config.Timeouts.Ready)
}
