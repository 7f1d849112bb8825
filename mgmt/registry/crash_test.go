package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/storetest"
)

// process is one that dies at one of the things it does: it counts those that it does on the machine, and the entries
// that it makes in its journal.
type process struct {
	storetest.Fence
	l       *lab
	at      int  // which of them; 0: none
	after   bool // an entry is made
	mu      sync.Mutex
	counted []string
	gone    chan struct{}
	once    sync.Once
}

func (p *process) count(what string) (die bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted = append(p.counted, what)
	return len(p.counted) == p.at
}

func (p *process) die() {
	p.once.Do(func() {
		p.Cut(true)
		for _, h := range p.l.World.Hosts() {
			h.CutConnections()
		}
		close(p.gone)
	})
}

// Put dies before, or after, an entry is made.
func (p *process) Put(ctx context.Context, r vnflcm.Record) error {
	die := r.Kind == "step" && p.count("journal")
	if die && !p.after {
		p.die()
	}
	err := p.Fence.Put(ctx, r)
	if die {
		p.die()
	}
	return err
}

// run instantiates, or heals, in a process that may die, and in another one then.
func (p *process) run(begin func(m *vnflcm.Manager) (string, error)) {
	l := p.l
	watch := func(c *vnflcm.Config) {
		c.Store = p
		c.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
			if p.IsCut() {
				return storetest.ErrCut
			}
			for _, h := range l.World.Hosts() {
				h.OnCommand(func(r sshtest.Record) {
					if (!r.BuiltIn || r.Argv[0] == "mv") && p.count(strings.Join(r.Argv, " ")) { // uploads end with mv
						p.die()
					}
				})
			}
			return next(ctx)
		}
	}
	m := l.Process(watch)
	opID, err := begin(m)
	must(l.t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err = m.Wait(l.t.Context(), opID)
	}()
	select {
	case <-ended:
	case <-p.gone:
	}
	must(l.t, m.Close(l.t.Context()))
	<-ended
	for _, h := range l.World.Hosts() {
		h.OnCommand(nil)
	}
	if !p.IsCut() {
		must(l.t, err)
		return
	}
	next := l.Process()
	_, err = next.Resume(l.t.Context())
	l.Must(opID, err, next)
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
	for _, kind := range []string{"instance", "state", "step", "lease"} {
		out[kind] = fmt.Sprint(len(l.Records(kind)))
	}
	must(l.t, l.push(l.connection(id), "team/web:1"))
	return out
}

// tlsOnly has no users: their hashes are meant to be slow to make.
const tlsOnly = `{"server_name":"registry.example.org","tls":{},"probe":true}`

// TestCrash kills the process at each program that it runs on the machine and around each entry in its journal;
// whoever resumes comes to the same end.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]func(t *testing.T, l *lab, p *process) (id string){
		"instantiate": func(t *testing.T, l *lab, p *process) string {
			id := l.Created()
			p.run(func(m *vnflcm.Manager) (string, error) {
				return m.Instantiate(t.Context(), id, l.Request("instantiate.json", with(t, tlsOnly)))
			})
			return id
		},
		"heal": func(t *testing.T, l *lab, p *process) string {
			id := l.Instantiated("instantiate.json", with(t, tlsOnly))
			vnfc := l.VNFCs(id)[0].ID
			p.run(func(m *vnflcm.Manager) (string, error) {
				return m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{vnfc}})
			})
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := func(t *testing.T, at int, after bool) (end map[string]string, counted []string) {
				l := newLab(t, setup{})
				p := &process{Fence: storetest.Fence{Store: l.Store}, l: l, at: at, after: after, gone: make(chan struct{})}
				id := scenario(t, l, p)
				if at > 0 && !p.IsCut() {
					t.Fatal("it did not die")
				}
				return l.end(id), p.counted
			}
			want, counted := play(t, 0, false)
			for i, what := range counted {
				for _, after := range []bool{false, true} {
					if after && what != "journal" {
						continue
					}
					t.Run(fmt.Sprintf("%d %.60s %v", i+1, what, after), func(t *testing.T) {
						t.Parallel()
						end, _ := play(t, i+1, after)
						if diff := cmp.Diff(want, end); diff != "" {
							t.Errorf("another end than without the crash:\n%s", diff)
						}
					})
				}
			}
		})
	}
}
