// Package progress shows on a terminal what a Manager does.
//
//	screen := progress.New(os.Stdout, progress.Options{Interrupted: ctx})
//	defer screen.Close()
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Observe: screen.Observe, ...})
//
// A terminal has a line for each step that is done, and below them the steps that are running, with the time that they have
// taken so far and what they report. The last line counts the steps, and after Expect also how many of how many are done and
// how long the rest may take. Elsewhere, in a file or a pipe, there are plain lines, and with Options.JSON an object for each
// event.
//
// Lines are in colour if the terminal has it and the environment variable NO_COLOR is not set (https://no-color.org). The cursor
// is kept above the running steps: what is printed next, by this or by another process, begins there and not below a line that a
// killed process has left.
package progress
