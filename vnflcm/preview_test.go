package vnflcm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// previewer is a cluster with Preview.
type previewer struct{ cluster }

func (p *previewer) Preview(ctx context.Context, op *vnflcm.Operation) (out []vnflcm.PlannedTask, err error) {
	if op.Terminate != nil {
		return nil, errors.New("no plan")
	}
	if err := vnflcm.Do(ctx, op, "touch", "", func(context.Context) error { return nil }); !errors.Is(err, vnflcm.ErrProgramming) {
		return nil, errors.New("a step can run")
	}
	for _, v := range op.Change.Removed {
		out = append(out, vnflcm.PlannedTask{Phase: "scale_start", Name: "leave", On: v.ID, Machine: v.Name, Why: "the node is empty", If: "it answers"})
	}
	first := len(out)
	for range op.Change.Added {
		out = append(out, vnflcm.PlannedTask{Phase: "scale_end", Name: "join", Machine: "new worker", Why: "the machine is a node", Alone: "etcd"})
	}
	end := vnflcm.PlannedTask{Phase: "scale_end", Name: "ready", Why: "the nodes are Ready", Repeats: true}
	for i := first; i < len(out); i++ {
		end.After = append(end.After, i)
	}
	return append(out, end), nil
}

// TestPreview checks that a preview has the phases of the operation in order, with the tasks of drivers that have Preview, and changes
// nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tells   bool
		request any
		want    string
	}{
		"a driver that tells nothing": {false, scale(vnflcm.ScaleOut, 0), `
scale_start
  1        the driver cluster does not tell what it does
scale
  2  add  new worker    the VIM makes the machine
scale_end
  3        the driver cluster does not tell what it does
`},
		"scale out": {true, scale(vnflcm.ScaleOut, 2), `
scale
  1  add  new worker    the VIM makes the machine
  2  add  new worker    the VIM makes the machine
scale_end
  3  join   new worker             the machine is a node (one at a time: etcd)
  4  join   new worker             the machine is a node (one at a time: etcd)
  5  ready              after 3-4  the nodes are Ready (repeated when resumed)
`},
		"scale to level": {true, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "workers", ScaleLevel: 1}, {AspectID: "masters", ScaleLevel: 1}}}, `
scale.1
  1  add  new master    the VIM makes the machine
  2  add  new master    the VIM makes the machine
scale_end.1
  3  join   new worker             the machine is a node (one at a time: etcd)
  4  join   new worker             the machine is a node (one at a time: etcd)
  5  ready              after 3-4  the nodes are Ready (repeated when resumed)
scale_start.2
  6  leave  worker2    the node is empty (if it answers)
scale.2
  7  remove  worker2    the VIM removes the machine
scale_end.2
  8  ready      the nodes are Ready (repeated when resumed)
`},
		"stop": {true, stop, `
operate
  1  stop  worker0             the VNFC is stopped, its data stays
  2  stop  worker1             the VNFC is stopped, its data stays
  3  stop  worker2             the VNFC is stopped, its data stays
  4  stop  master0  after 1-3  the VNFC is stopped, its data stays
`},
		"heal": {false, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}}, `
heal_start
  1        the driver cluster does not tell what it does
heal
  2  replace  worker0    the VIM makes another machine in the place of this one
heal_end
  3        the driver cluster does not tell what it does
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id := x.create()
			opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			x.wait(opID, err, vnflcm.Completed)
			opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
			x.wait(opID, err, vnflcm.Completed)
			if c.tells {
				x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &previewer{cluster{world: x.world}}}
				x.start()
			}
			before := x.records()
			got, err := x.Preview(t.Context(), id, c.request)
			must(t, err)
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got.String()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, x.records()); diff != "" {
				t.Errorf("the preview changed the store:\n%s", diff)
			}
		})
	}
}

// TestPreviewOfNewInstance checks the preview of an instantiation, whose machines do not exist yet.
func TestPreviewOfNewInstance(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	got, err := x.Preview(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare"})
	must(t, err)
	if len(got.Tasks) != len(got.Change.Added) || len(got.Tasks) < 2 || got.Operation != vnflcm.OpInstantiate {
		t.Errorf("%+v", got)
	}
	x.instantiate(id, "plain", vnflcm.Completed)
}

// TestPreviewRefused checks that a preview is refused with the errors of the operation.
func TestPreviewRefused(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) {
		w := c.Mgmt["cluster"].(*cluster).world
		c.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &previewer{cluster{world: w}}}
	})
	running, fresh := x.instantiated("plain"), x.create()
	for name, c := range map[string]struct {
		id      string
		request any
		want    error
	}{
		"no such instance":          {"none", scale(vnflcm.ScaleIn, 1), vnflcm.ErrNotFound},
		"not instantiated":          {fresh, scale(vnflcm.ScaleIn, 1), vnflcm.ErrState},
		"instantiated":              {running, vnflcm.InstantiateVnfRequest{FlavourID: "plain"}, vnflcm.ErrState},
		"too many steps":            {running, scale(vnflcm.ScaleOut, 99), vnflcm.ErrInvalidRequest},
		"no VNFC":                   {running, vnflcm.HealVnfRequest{VnfcInstanceID: []string{}}, vnflcm.ErrInvalidRequest},
		"another kind of operation": {running, vnflcm.VnfInfoModificationRequest{}, vnflcm.ErrNotSupported},
	} {
		if got, err := x.Preview(t.Context(), c.id, c.request); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := x.Preview(t.Context(), running, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}); err == nil || got != nil {
		t.Errorf("the driver's error is lost: %+v, %v", got, err)
	}
}
