package kubeadm_test

import (
	"context"
	"errors"
	"path"
	"testing"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// cutReplacing lets a process fail after the data of etcd were moved away and before the restored data are in their place.
func (l *lab) cutReplacing(machine string) func(*vnflcm.Config) {
	return func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if err := next(ctx); err != nil || s.Name != "restore-data" {
				return err
			}
			const waits = "/var/lib/etcd/vnfkit-restore/data/member"
			files := l.host(machine).FS()
			return errors.Join(errFault, files.MkdirAll(path.Dir(waits), 0o700), files.Rename("/var/lib/etcd/member", waits))
		}
	}
}

// TestRestoreCutWhileReplacing cuts a restore while it replaces the data of etcd. Whether the operation is retried without its journal, or given up
// and followed by another one: etcd never starts without data, which would be an empty cluster.
func TestRestoreCutWhileReplacing(t *testing.T) {
	t.Parallel()
	const survivor = "masterNode-1"
	first := newLab(t)
	id := first.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	first.keep(id, "before")
	first.stop("masterNode-0", "masterNode-2")
	from := first.Snapshot()
	for name, resume := range map[string]func(l *lab, opID string) (last string, unpacked int){
		"retry": func(l *lab, opID string) (string, int) {
			l.DropJournal()
			l.Must(opID, l.Retry(t.Context(), opID))
			return opID, 1
		},
		"another heal": func(l *lab, opID string) (string, int) {
			if err := l.Fail(t.Context(), opID); err != nil {
				t.Fatal(err)
			}
			opID, err := l.Heal(t.Context(), id, l.restoring(id, fromSurvivor, "masterNode-0", "masterNode-2"))
			l.Must(opID, err)
			return opID, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{from: from})
			m := l.Process(l.cutReplacing(survivor))
			opID, err := m.Heal(t.Context(), id, l.restoring(id, fromSurvivor, "masterNode-0", "masterNode-2"))
			l.Fails(opID, err, m)
			last, want := resume(l, opID)
			unpacked := 0
			for _, r := range l.host(survivor).Commands() {
				if r.Argv[0] == "nsenter" {
					unpacked++
				}
			}
			if unpacked != want {
				t.Errorf("data were restored from a snapshot %d times, not %d", unpacked, want)
			}
			before, err := afero.DirExists(l.host(survivor).FS(), "/var/lib/etcd/before-restore-"+last+"/member/snap")
			if err != nil || !before {
				t.Errorf("the data before the last restore are kept: %v, %v", before, err)
			}
			l.want(3, 1, 0)
			if !l.keeps(id, "before") {
				t.Error("an object from before is gone")
			}
		})
	}
}
