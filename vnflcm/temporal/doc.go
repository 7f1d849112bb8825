// Package temporal runs operations as workflows of Temporal (https://temporal.io). Processes on one Store share the work, as
// without it; Temporal decides which process runs which phase, shows what waits for what, and leads the
// operations of a site to workers at that site.
//
//	c, err := client.Dial(client.Options{HostPort: "temporal.example:7233", Namespace: "vnfm"})
//	if err != nil {
//		return err
//	}
//	if err := temporal.CreateAttributes(ctx, c, "vnfm"); err != nil { // once for each namespace
//		return err
//	}
//	config.Runner = temporal.Runner(c, "vnfm") // config is the vnflcm.Config of every process, also of one that only takes requests
//	manager, err := vnflcm.New(ctx, config)
//	if err != nil {
//		return err
//	}
//	w := temporal.Worker(c, "vnfm", manager, temporal.Options{}) // in processes that work
//	if err := w.Start(); err != nil {
//		return err
//	}
//	defer w.Stop() // before manager.Close
//
// # What is where
//
// The Store has the operation, its journal of steps and every secret, as without Temporal. Each operation is one workflow, with
// the id of WorkflowID; each of its phases is one activity. The history of a workflow has ids, the names of phases and the states of
// the operation. It has no parameter, no step and no text of an error: read these from the VNFM. A workflow that ends in the states
// FAILED_TEMP or FAILED fails. Retry and Rollback of the operation start a workflow under the same id.
//
// A lost workflow loses nothing: a Manager with a Runner starts a workflow again for an operation that no process works on.
// Therefore to terminate a workflow does not end its operation. Cancel does: [vnflcm.Manager.Cancel], the signal SignalCancel
// with the mode GRACEFUL or FORCEFUL, or the cancellation of the workflow, which is graceful.
//
// # When a process dies
//
// A worker sends heartbeats with its Progress. 15 s after the last one, Temporal gives the phase to another worker, which continues
// it from the journal as soon as the dead process has shown no sign of life for its LeaseTTL. The lease in the Store decides: a
// process that only Temporal cannot reach, as while the Temporal server restarts, completes the phase that it runs.
//
// # Updates of the program
//
// Workflows that began before an update end after it: the test of this package replays the histories that each version has
// written. Workers of two versions may run side by side as far as their drivers allow.
package temporal
