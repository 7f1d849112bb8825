// Package timeline draws an operation as a picture: which step ran on which machine and when, what ran beside it, which steps
// decided how long the operation took, and where it waited, failed, or moved to another process.
//
// To write the picture of an operation to a file:
//
//	chart, err := timeline.Read(ctx, manager, operationID)
//	if err != nil {
//		return err
//	}
//	var svg bytes.Buffer
//	if err := timeline.WriteSVG(&svg, time.Now(), chart); err != nil {
//		return err
//	}
//	return os.WriteFile("operation.svg", svg.Bytes(), 0o644)
//
// Read takes what Manager.History has, so the picture can be drawn by every process that opens the store, during the operation
// and until the operation is purged. Steps that are still running are drawn by the process that runs them (Manager.Progress): the
// tooltip of a step says what the step waits for.
//
// # Reading the picture
//
// Time runs from left to right. The operation as a whole and each machine have a row; steps that ran on a machine at the same
// time are below each other. Dark bars are the critical path: each step on it began when the step before it had ended, so a
// shorter step there would have made the operation shorter. A failed step is red. A dashed vertical line is the beginning of a
// further attempt, after a retry, a rollback, or the death of a process. Times in which no step ran are cut short if they
// are long, as the pause before a retry is; a grey column says how long they were.
//
// The picture is an SVG without scripts and without references to other files. It follows the light or dark colour scheme of
// the reader. All texts are escaped, and names are cut to 40 characters.
package timeline
