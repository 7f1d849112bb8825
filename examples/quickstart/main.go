// Quickstart runs the whole life of a Kubernetes cluster as a VNF on the embedded sandbox: instantiate from a
// VNF package, scale out and in, heal a dead worker, terminate. Everything happens inside the process and a
// directory; no cloud, no root.
//
// Without -state it also shows a crash: it runs itself as a child process on a temporary state directory,
// kills that with SIGKILL in the middle of the scale-out, and runs it again, which resumes. With -state it
// runs in this process: interrupt or kill it at any moment and run it again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/progress"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func main() {
	var o options
	flag.StringVar(&o.pkg, "package", "", "VNF package, a directory or a CSAR (default: the sample package)")
	flag.StringVar(&o.request, "request", "", "instantiate request, a JSON file (default: the sample request)")
	flag.IntVar(&o.masters, "masters", 1, "control-plane nodes, 1 or 3")
	flag.IntVar(&o.workers, "workers", 2, "workers to begin with")
	flag.StringVar(&o.state, "state", "", "directory that keeps state and machines between runs (default: a temporary one, and a crash is shown)")
	flag.StringVar(&o.pauseBefore, "pause-before", "", "wait before the step of this name, such as join or scale_end/join, so that you can kill the program there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := live
	if o.state == "" {
		run = crashAndResume
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has just been called
	}
}

type options struct {
	pkg, request, state, pauseBefore string
	masters, workers                 int
}

// live runs the lifecycle, or what is left of it.
func live(ctx context.Context, o options) error {
	screen := progress.New(os.Stdout)
	defer screen.Close()
	v, err := compose(ctx, o, screen)
	if err != nil {
		return err
	}
	defer v.close()
	if err := v.resume(ctx); err != nil {
		return err
	}
	for {
		title, next, err := v.next(ctx)
		if err != nil {
			return err
		}
		if next == nil {
			break
		}
		screen.Title("%s", title)
		if err := v.wait(ctx, next); err != nil {
			return err
		}
	}
	screen.Title("everything is done, nothing is left")
	operations, err := v.Operations(ctx, "")
	screen.Table(operations)
	return err
}

// resume finishes what an earlier process was in the middle of.
func (v *vnfm) resume(ctx context.Context) error {
	ids, err := v.Resume(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		v.screen.Title("an earlier process left operation %s unfinished: resuming it", id)
		if err := v.wait(ctx, func(context.Context) (string, error) { return id, nil }); err != nil {
			return err
		}
	}
	return nil
}

// wait starts an operation and waits for its end. An interrupt leaves it for the next run.
func (v *vnfm) wait(ctx context.Context, start func(context.Context) (string, error)) error {
	id, err := start(ctx)
	if err != nil {
		return err
	}
	if _, err = v.Wait(ctx, id); errors.Is(err, context.Canceled) {
		return errors.New("interrupted: run again with the same -state to continue")
	}
	return err
}

// next decides what comes next from what is there: so a run that was cut short goes on where it was.
func (v *vnfm) next(ctx context.Context) (string, func(context.Context) (string, error), error) {
	inst, done, err := v.instance(ctx)
	if err != nil || inst == nil {
		return "", nil, err
	}
	run := func(title string, start func(context.Context, string) (string, error)) (string, func(context.Context) (string, error), error) {
		return title, func(ctx context.Context) (string, error) { return start(ctx, inst.ID) }, nil
	}
	switch done {
	case 0:
		return run("instantiate the VNF from its package", v.instantiate)
	case 1:
		return run("scale out by one worker", v.scale(vnflcm.ScaleOut))
	case 2:
		return run("scale in by one worker", v.scale(vnflcm.ScaleIn))
	case 3:
		return run("a worker dies: heal it", v.heal)
	case 4:
		return run("terminate", v.terminate)
	default:
		return "", nil, v.Delete(ctx, inst.ID)
	}
}

func (v *vnfm) instantiate(ctx context.Context, id string) (string, error) {
	return v.Instantiate(ctx, id, v.request)
}

func (v *vnfm) scale(to vnflcm.ScaleType) func(context.Context, string) (string, error) {
	return func(ctx context.Context, id string) (string, error) {
		return v.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: to, AspectID: "worker_instance", NumberOfSteps: 1})
	}
}

func (v *vnfm) heal(ctx context.Context, id string) (string, error) {
	worker, err := v.worker(ctx, id)
	if err != nil {
		return "", err
	}
	if err := v.world.Stop(worker.ComputeResource.ResourceID); err != nil {
		return "", err
	}
	return v.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}, Cause: "the machine does not answer"})
}

func (v *vnfm) terminate(ctx context.Context, id string) (string, error) {
	return v.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
}

// pace is how long the slow programs of the sandbox take, so that there is something to see.
const pace = 400 * time.Millisecond
