// Quickstart runs the whole life of a Kubernetes cluster as a VNF on the embedded sandbox: instantiate from a
// VNF package, scale out and in, heal a dead worker, terminate. Everything happens inside the process and a
// directory; no cloud, no root.
//
// Without -state it also shows a crash: it runs itself as a child process on a temporary state directory,
// kills that with SIGKILL in the middle of the scale-out, and runs it again, which resumes. With -state it
// runs in this process: interrupt or kill it at any moment and run it again.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/vnfkit/vnfkit/examples/internal/crash"
	"github.com/vnfkit/vnfkit/examples/internal/progress"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/vnflcm"
)

type options struct {
	pkg, request, state, pauseBefore string
	masters, workers                 int
}

func main() {
	var o options
	flag.StringVar(&o.pkg, "package", samples.Package("k8s-cluster"), "VNF package, a directory or a CSAR")
	flag.StringVar(&o.request, "request", "", "instantiate request, a JSON file (default: the sample request)")
	flag.IntVar(&o.masters, "masters", 1, "control-plane nodes of the sample request, 1 or 3")
	flag.IntVar(&o.workers, "workers", 2, "workers of the sample request")
	flag.StringVar(&o.state, "state", "", "directory that keeps state and machines between runs (default: a temporary one, and a crash is shown)")
	flag.StringVar(&o.pauseBefore, "pause-before", "", "wait before the step of this name, such as join or scale_end/join, so that you can kill the program there")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.state != "" {
		err = live(ctx, o)
	} else {
		err = crash.Show(ctx, cmp.Or(o.pauseBefore, "scale_end/join"), []string{"-package", o.pkg, "-request", o.request,
			"-masters", fmt.Sprint(o.masters), "-workers", fmt.Sprint(o.workers)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has just been called
	}
}

// life is what happens to the VNF, in order.
var life = []struct {
	title string
	begin func(context.Context, *vnfm, string) (operation string, err error)
}{
	{"instantiate the VNF from its package", func(ctx context.Context, v *vnfm, id string) (string, error) {
		return v.Instantiate(ctx, id, v.request)
	}},
	{"scale out by one worker", func(ctx context.Context, v *vnfm, id string) (string, error) {
		return v.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	}},
	{"scale in by one worker", func(ctx context.Context, v *vnfm, id string) (string, error) {
		return v.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"})
	}},
	{"a worker dies: heal it", func(ctx context.Context, v *vnfm, id string) (string, error) {
		dead, err := v.killWorker(ctx, id)
		if err != nil {
			return "", err
		}
		return v.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{dead}, Cause: "the machine does not answer"})
	}},
	{"terminate", func(ctx context.Context, v *vnfm, id string) (string, error) {
		return v.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
	}},
}

// live runs the life, or what is left of it.
func live(ctx context.Context, o options) error {
	screen := progress.New(os.Stdout)
	defer screen.Close()
	v, err := compose(ctx, o, screen)
	if err != nil {
		return err
	}
	defer v.close()
	unfinished, _, err := v.Resume(ctx)
	for _, operation := range unfinished {
		screen.Title("an earlier process left operation %s unfinished: resuming it", operation)
		err = errors.Join(err, v.wait(ctx, operation))
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
		operation, err := next.begin(ctx, v, id)
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
	return v.Delete(ctx, id, "")
}

// wait waits for the end of an operation. An interrupt leaves it for the next run.
func (v *vnfm) wait(ctx context.Context, operation string) error {
	_, err := v.Wait(ctx, operation)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: run again with the same -state to continue")
	}
	return err
}
