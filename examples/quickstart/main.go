// Quickstart runs the whole life of a Kubernetes cluster as a VNF on the embedded sandbox: instantiate from a
// VNF package, scale out and in, heal a dead worker, terminate. Everything happens inside the process and a
// directory; no cloud, no root.
//
// Without -state it also shows a crash: it runs itself as a child process on a temporary state directory,
// kills that with SIGKILL in the middle of the scale-out, and runs it again, which resumes. With -state it
// runs in this process: interrupt or kill it at any moment and run it again. With -plan it shows what the next
// operation would do on which machine, and ends. With -timeline it draws which steps ran when, on which machine.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/crash"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
	"github.com/vnfkit/vnfkit/vnflcm/timeline"
)

type options struct {
	pkg, request, state, pauseBefore string
	controlPlane, workers            int
	plan, json                       bool
	timeline                         string
}

const help = `Quickstart runs the whole life of a Kubernetes cluster as a VNF, on machines inside the process.

	quickstart                                the life; the process is killed in the middle, and the next one continues
	quickstart -control-plane 3 -workers 3    a larger cluster
	quickstart -state dir                     keep the machines and the state: interrupt it, run it again, and it continues
	quickstart -plan                          show what the first operation would do on which machine; with -json as JSON
	quickstart -timeline life.svg             draw which steps ran when, on which machine
`

func main() {
	var o options
	program := cli.New("quickstart", help)
	program.Flags.StringVar(&o.pkg, "package", samples.Package("k8s-cluster"), "VNF package, a directory or a CSAR")
	program.Flags.StringVar(&o.request, "request", "", "instantiate request, a JSON file (default: the sample request)")
	program.Flags.IntVar(&o.controlPlane, "control-plane", 1, "control-plane nodes of the sample request, 1 or 3")
	program.Flags.IntVar(&o.workers, "workers", 2, "workers of the sample request")
	program.Flags.StringVar(&o.state, "state", "", "directory that keeps state and machines between runs (default: a temporary one, and a crash is shown)")
	program.Flags.BoolVar(&o.plan, "plan", false, "show what the next operation would do, and end")
	program.Flags.StringVar(&o.timeline, "timeline", "", "write a picture of all operations to this file, as SVG")
	program.Flags.StringVar(&o.pauseBefore, "pause-before", "", "wait before the step of this name, such as join or scale_end/join, so that you can kill the program there")
	program.Flags.BoolVar(&o.json, "json", false, "write the events as JSON, an object per line, for other programs")
	program.Main(func(ctx context.Context, _ []string) error {
		if err := o.check(); err != nil {
			return cli.Wrong("%w", err)
		}
		switch {
		case o.plan:
			return showPlan(ctx, o)
		case o.state != "":
			return live(ctx, o)
		}
		screen := o.screen(ctx)
		defer screen.Close()
		return crash.Show(ctx, screen.Title, cmp.Or(o.pauseBefore, "scale_end/join"), []string{"-package", o.pkg, "-request", o.request,
			"-control-plane", fmt.Sprint(o.controlPlane), "-workers", fmt.Sprint(o.workers), "-timeline", o.timeline, "-json=" + fmt.Sprint(o.json)})
	})
}

// check returns what is wrong with the flags, before anything is done.
func (o options) check() error {
	if o.request == "" && (o.controlPlane != 1 && o.controlPlane != 3 || o.workers < 1) {
		return fmt.Errorf("-control-plane %d -workers %d: the sample has 1 or 3 control-plane nodes, and at least 1 worker", o.controlPlane, o.workers)
	}
	switch {
	case o.timeline == "":
		return nil
	case o.plan:
		return errors.New("-timeline draws operations, and -plan runs none")
	}
	_, missing := os.Stat(o.timeline)
	file, err := os.OpenFile(o.timeline, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // the picture has no secrets
	if err != nil {
		return fmt.Errorf("-timeline: %w", err)
	}
	err = file.Close()
	if missing != nil {
		err = errors.Join(err, os.Remove(o.timeline))
	}
	return err
}

// screen shows what happens.
func (o options) screen(ctx context.Context) *progress.Screen {
	return progress.New(os.Stdout, progress.Options{Interrupted: ctx, JSON: o.json})
}

// life is what happens to the VNF, in order.
var life = []struct {
	title   string
	before  func(context.Context, *vnfm, string) error // nil: nothing
	request func(context.Context, *vnfm, string) (any, error)
}{
	{"instantiate the VNF from its package", nil, func(_ context.Context, v *vnfm, _ string) (any, error) {
		return v.request, nil
	}},
	{"scale out by one worker", nil, func(context.Context, *vnfm, string) (any, error) {
		return vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}, nil
	}},
	{"scale in by one worker", nil, func(context.Context, *vnfm, string) (any, error) {
		return vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}, nil
	}},
	{"a worker dies: heal it", killWorker, func(ctx context.Context, v *vnfm, id string) (any, error) {
		worker, err := v.worker(ctx, id)
		return vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}, Cause: "the machine does not answer"}, err
	}},
	{"terminate", nil, func(context.Context, *vnfm, string) (any, error) {
		return vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}, nil
	}},
}

// begin starts the operation of a request.
func (v *vnfm) begin(ctx context.Context, id string, request any) (operation string, err error) {
	switch r := request.(type) {
	case vnflcm.InstantiateVnfRequest:
		return v.Instantiate(ctx, id, r)
	case vnflcm.ScaleVnfRequest:
		return v.Scale(ctx, id, r)
	case vnflcm.HealVnfRequest:
		return v.Heal(ctx, id, r)
	case vnflcm.TerminateVnfRequest:
		return v.Terminate(ctx, id, r)
	}
	return "", fmt.Errorf("no operation for a %T", request)
}

// showPlan shows what the next operation of the life would do.
func showPlan(ctx context.Context, o options) error {
	if o.state == "" {
		dir, err := os.MkdirTemp("", "vnfkit-quickstart-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the temporary directory
		o.state = dir
	}
	screen := o.screen(ctx)
	defer screen.Close()
	v, err := compose(ctx, o, screen)
	if err != nil {
		return err
	}
	defer v.close()
	id, done, err := v.instance(ctx)
	if err != nil || done == len(life) {
		return err
	}
	request, err := life[done].request(ctx, v, id)
	if err != nil {
		return err
	}
	plan, err := v.Preview(ctx, id, request)
	switch {
	case err != nil:
		return err
	case o.json:
		return json.NewEncoder(os.Stdout).Encode(plan)
	}
	screen.Title("%s\n%s", life[done].title, plan)
	return nil
}

// live runs the life, or what is left of it, and tells how an interrupted run is continued.
func live(ctx context.Context, o options) error {
	screen := o.screen(ctx)
	defer screen.Close()
	err := liveOn(ctx, o, screen)
	if ctx.Err() != nil && err != nil && !crash.IsShown() {
		screen.Title("run again with -state %s to continue", o.state)
	}
	return err
}

func liveOn(ctx context.Context, o options, screen *progress.Screen) error {
	v, err := compose(ctx, o, screen)
	if err != nil {
		return err
	}
	defer v.close()
	unfinished, err := v.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing}})
	for _, operation := range unfinished.Items {
		screen.Title("an earlier process left operation %s unfinished: resuming it", operation.ID)
		err = errors.Join(err, v.wait(ctx, operation.ID))
	}
	if err != nil {
		return err
	}
	id, done, err := v.instance(ctx)
	if err != nil {
		return err
	}
	for _, next := range life[done:] {
		screen.Title("%s", next.title)
		if next.before != nil {
			if err := next.before(ctx, v, id); err != nil {
				return err
			}
		}
		request, err := next.request(ctx, v, id)
		if err != nil {
			return err
		}
		plan, err := v.Preview(ctx, id, request)
		if err != nil {
			return err
		}
		screen.Expect(len(plan.Tasks))
		operation, err := v.begin(ctx, id, request)
		if err != nil {
			return err
		}
		if err := v.wait(ctx, operation); err != nil {
			return err
		}
	}
	operations, err := v.Operations(ctx, vnflcm.OperationQuery{InstanceID: id})
	if err != nil {
		return err
	}
	screen.Title("everything is done, nothing is left")
	screen.Table(operations.Items)
	if err := v.draw(ctx, operations.Items, o.timeline); err != nil {
		return err
	}
	return v.Delete(ctx, id, "")
}

// draw writes a picture of the operations.
func (v *vnfm) draw(ctx context.Context, operations []*vnflcm.VnfLcmOpOcc, file string) error {
	if file == "" {
		return nil
	}
	var charts []*timeline.Chart
	for _, operation := range operations {
		chart, err := timeline.Read(ctx, v, operation.ID)
		if err != nil {
			return err
		}
		charts = append(charts, chart)
	}
	var picture bytes.Buffer
	if err := timeline.WriteSVG(&picture, time.Now(), charts...); err != nil {
		return err
	}
	return os.WriteFile(file, picture.Bytes(), 0o644) //nolint:gosec // the picture has no secrets
}

// wait waits for the end of an operation. An interrupt leaves it for the next run.
func (v *vnfm) wait(ctx context.Context, operation string) error {
	_, err := v.Wait(ctx, operation)
	return err
}
