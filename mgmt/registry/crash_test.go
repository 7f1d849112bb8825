package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// cut is where a process dies: at a point of a step, and inside it before it runs a program on the machine.
type cut struct {
	step    string
	point   crashtest.Point
	program int // the first is 1
}

func stepName(s vnflcm.StepInfo) string { return s.Phase + "/" + s.Name }

// onPrograms has do called before each program that is run on the machine.
func (l *lab) onPrograms(do func()) {
	for _, h := range l.World.Hosts() {
		if do == nil {
			h.OnCommand(nil)
			continue
		}
		h.OnCommand(func(r sshtest.Record) {
			if !r.BuiltIn || r.Argv[0] == "mv" { // uploads end with mv
				do()
			}
		})
	}
}

// undisturbed runs an operation in a process that is not killed, and returns the points at which it could be.
func (l *lab) undisturbed(begin func(*vnflcm.Manager) (string, error)) (cuts []cut) {
	l.t.Helper()
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			programs := 0
			l.onPrograms(func() { programs++ })
			err := next(ctx)
			l.onPrograms(nil)
			cuts = append(cuts, cut{step: stepName(s), point: crashtest.BeforeJournal}, cut{step: stepName(s), point: crashtest.AfterJournal})
			for n := range programs {
				cuts = append(cuts, cut{stepName(s), crashtest.InsideDo, n + 1})
			}
			return err
		}
	})
	opID, err := begin(m)
	l.Must(opID, err, m)
	return cuts
}

// crashed begins an operation in a process that dies there, and has the next one finish it.
func (l *lab) crashed(c cut, begin func(*vnflcm.Manager) (string, error)) {
	l.t.Helper()
	dying := crashtest.New(crashtest.Death{
		Step:  func(s vnflcm.StepInfo) bool { return stepName(s) == c.step },
		Point: c.point,
		Inside: func(_ vnflcm.StepInfo, die func()) (undo func()) {
			var programs atomic.Int32
			l.onPrograms(func() {
				if int(programs.Add(1)) == c.program {
					die()
				}
			})
			return func() { l.onPrograms(nil) }
		},
		End: func() {
			for _, h := range l.World.Hosts() {
				h.CutConnections()
			}
		},
	})
	opID, err := dying.Run(l.t.Context(), l.Process(dying.Attach), begin)
	if err == nil {
		_, err = dying.Resume(l.t.Context(), l.Process(dying.AttachNext), opID)
	}
	must(l.t, err)
}

// end is what there is when all is done, in terms that do not change from run to run.
func (l *lab) end(id string) map[string]string {
	l.t.Helper()
	var c struct {
		Image  string
		State  struct{ Status string }
		Config struct{ Env []string }
	}
	must(l.t, json.Unmarshal([]byte(l.on("docker", "container", "inspect", "--format", "{{json .}}", "private_registry")), &c))
	out := map[string]string{"container": fmt.Sprint(c)}
	connection := l.connection(id)
	connection.CACertificate = fmt.Sprint(connection.CACertificate != "")
	out["connection"] = fmt.Sprint(connection)
	for _, kind := range []string{"instance", "state", "step", "claim"} {
		out[kind] = fmt.Sprint(len(l.Records(kind)))
	}
	must(l.t, l.push(l.connection(id), "team/web:1"))
	return out
}

// tlsOnly has no users: their hashes are meant to be slow to make.
const tlsOnly = `{"server_name":"registry.example.org","tls":{},"probe":true}`

// TestCrash kills the process at each program that it runs on the machine and around each entry in its journal; the
// next process reaches the same result.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]func(l *lab) (id string, begin func(*vnflcm.Manager) (string, error)){
		"instantiate": func(l *lab) (string, func(*vnflcm.Manager) (string, error)) {
			id := l.Created()
			return id, func(m *vnflcm.Manager) (string, error) {
				return m.Instantiate(l.t.Context(), id, l.Request("instantiate.json", with(l.t, tlsOnly)))
			}
		},
		"heal": func(l *lab) (string, func(*vnflcm.Manager) (string, error)) {
			id := l.Instantiated("instantiate.json", with(l.t, tlsOnly))
			vnfc := l.VNFCs(id)[0].ID
			return id, func(m *vnflcm.Manager) (string, error) {
				return m.Heal(l.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{vnfc}})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, setup{})
			id, begin := scenario(l)
			cuts := l.undisturbed(begin)
			want := l.end(id)
			if testing.Short() { // one cut of each step
				cuts = crashtest.Sample(cuts, func(c cut) (step, name string) { return c.step, fmt.Sprint(c) })
			}
			for _, c := range cuts {
				t.Run(fmt.Sprint(c), func(t *testing.T) {
					t.Parallel()
					l := newLab(t, setup{})
					id, begin := scenario(l)
					l.crashed(c, begin)
					if diff := cmp.Diff(want, l.end(id)); diff != "" {
						t.Errorf("another end than without the crash:\n%s", diff)
					}
				})
			}
		})
	}
}
