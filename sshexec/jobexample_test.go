package sshexec_test

import (
	"context"
	"fmt"
	"os"

	"github.com/vnfkit/vnfkit/sshexec"
)

// A job continues when the program that started it ends. Another program, or the same after a restart, finds it by its
// name and loses none of its output.
func ExampleHost_StartJob() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	name := "instance-7/instantiate/kubespray" // the key of a step, for example
	command := sshexec.Command{Shell: `for i in 1 2 3; do echo "part $i"; done`}
	if _, err := host.StartJob(ctx, name, command); err != nil {
		fmt.Println(err)
	}

	job := host.Job(name, "") // in another process
	next, err := job.Follow(ctx, os.Stdout, 0)
	fmt.Println(next, err)
	fmt.Println("ended:", job.Wait(ctx))
	fmt.Println("removed:", job.Remove(ctx))
	// Output:
	// part 1
	// part 2
	// part 3
	// 21 <nil>
	// ended: <nil>
	// removed: <nil>
}

func ExampleJob_Cancel() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	job, err := host.StartJob(ctx, "wait", sshexec.Command{Argv: []string{"sleep", "3600"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	before, _ := job.Status(ctx)
	err = job.Cancel(ctx)
	after, _ := job.Status(ctx)
	fmt.Println(before.State, err, after.State, after.Code)
	// Output:
	// running <nil> ended 143
}
