package ansible

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/internal/mask"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	// stopLimit bounds how long a run may take to end after it was told to stop.
	stopLimit = time.Minute
	// reachLimit bounds how long a command is retried while the server cannot be reached: the server may be restarting its
	// network.
	reachLimit = 3 * time.Minute
)

// runScript is the command of a job. It writes the files of the run from standard input, and removes them after
// ansible-playbook has ended, even if the caller is gone. It ignores the signals that end ansible-playbook. The first line
// of its output names the callback.
//
//	$1 directory, $2 whether there is a vault password, $3 callback, $4... command
const runScript = `d=${HOME:?}/.vnfkit/run/$1 v=$2 k=$3 p=$4; shift 4; printf "` + header + `%s\n" "$k"; ` +
	`trap : HUP INT TERM; ` +
	`if (umask 077; rm -rf "$d" && mkdir -p "$d" && IFS= read -r x && { [ "$v" != yes ] || printf "%s\n" "$x" >"$d/vault"; } && cat >"$d/vars.json"); then ` +
	`if [ "$v" = yes ]; then set -- --vault-password-file="$d/vault" "$@"; fi; "$p" -e "@$d/vars.json" "$@" </dev/null; c=$?; ` +
	`else echo "ERROR! the files of the run cannot be written"; c=125; fi; rm -rf "$d"; exit "$c"`

// cleanScript removes the files of a run that was killed: $1 directory.
const cleanScript = `rm -rf "${HOME:?}/.vnfkit/run/$1"`

// Run runs a playbook, or follows the run of the same name, which another process may have started. It returns when the run
// has ended. The error is an *Error if the run failed, and wraps sshexec.ErrJobLost if the server restarted or the run was
// killed.
//
// Run calls observe, which may be nil, for every event, one after the other. For a run that was found it begins with the
// first event. observe must not block.
//
// When ctx ends, the run continues if the cause is a shutdown (vnflcm.ErrShutdown, vnflcm.ErrLeased). Otherwise Run stops
// it. Before that, Run reconnects after a broken connection.
func (s Server) Run(ctx context.Context, p Play, observe func(Event)) (*Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	m := mask.New(append([]string{p.Vault.Reveal()}, p.Secrets...)...)
	job, err := s.start(ctx, p)
	if err != nil {
		return nil, s.interrupted(ctx, p, "", err)
	}
	result, task, err := s.follow(ctx, job, p, newReading(observe, m), p.output(m))
	if err == nil {
		return result, nil
	}
	if _, failed := errors.AsType[*Error](err); failed {
		return nil, err
	}
	return nil, s.interrupted(ctx, p, task, err)
}

// output returns the masking writer for p.Output, or nil without p.Output.
func (p Play) output(m *mask.Masker) *mask.Writer {
	if p.Output == nil {
		return nil
	}
	return m.NewWriter(p.Output)
}

// follow reads the output of the run from its beginning to its end. It also returns the task that was running last.
func (s Server) follow(ctx context.Context, job *sshexec.Job, p Play, r *reading, output *mask.Writer) (*Result, string, error) {
	l := newLines(r, output)
	_, err := job.Follow(ctx, l, 0)
	if err == nil || errors.Is(err, sshexec.ErrJobLost) {
		l.end()
	}
	if err != nil {
		return nil, r.task, err
	}
	status, err := persist(ctx, func() (sshexec.JobStatus, error) { return job.Status(ctx) })
	if err != nil {
		return nil, r.task, err
	}
	if status.Code > 128 { // a signal may have ended the script before it removed the files
		if err := s.clean(ctx, p.Name); err != nil {
			return nil, r.task, err
		}
	}
	result, err := p.conclude(s.Host.Name(), status, r)
	return result, r.task, err
}

// start finds the run, or starts it.
func (s Server) start(ctx context.Context, p Play) (*sshexec.Job, error) {
	job := s.Host.Job(p.Name, "")
	status, err := persist(ctx, func() (sshexec.JobStatus, error) { return job.Status(ctx) })
	switch {
	case errors.Is(err, sshexec.ErrNoJob):
		return s.launch(ctx, p)
	case err != nil:
		return nil, err
	case status.State == sshexec.JobPending:
		// An earlier start was interrupted, and the run may begin at any moment. StartJob completes that start, unless its
		// command differs from the present one.
		if job, err = s.launch(ctx, p); !errors.Is(err, sshexec.ErrJobExists) {
			return job, err
		}
	case status.State == sshexec.JobRunning, !p.Again, s.succeeded(ctx, job, p, status):
		return job, nil
	}
	if err := s.forget(ctx, p.Name); err != nil {
		return nil, err
	}
	return s.launch(ctx, p)
}

// succeeded reports whether a run ended successfully, so that it must not be repeated.
func (s Server) succeeded(ctx context.Context, job *sshexec.Job, p Play, status sshexec.JobStatus) bool {
	if status.State != sshexec.JobEnded || status.Code != 0 {
		return false
	}
	_, _, err := s.follow(ctx, job, p, newReading(nil, mask.New()), nil)
	_, failed := errors.AsType[*Error](err)
	return !failed
}

// launch starts the run.
func (s Server) launch(ctx context.Context, p Play) (*sshexec.Job, error) {
	callback, err := persist(ctx, func() (string, error) { return s.callback(ctx, p) })
	if err != nil {
		return nil, err
	}
	input, err := p.input()
	if err != nil {
		return nil, err
	}
	vault := "no"
	if !p.Vault.IsZero() {
		vault = "yes"
	}
	command := sshexec.Command{
		Argv: append([]string{"/bin/sh", "-c", runScript, "ansible-run", files(p.Name), vault, callback, "ansible-playbook"}, p.args()...),
		Env:  p.env(callback), Dir: p.Dir, Secrets: append([]string{p.Vault.Reveal()}, p.Secrets...),
	}
	return persist(ctx, func() (*sshexec.Job, error) {
		command.Stdin = bytes.NewReader(input)
		return s.Host.StartJob(ctx, p.Name, command)
	})
}

// callback returns the name of the callback to use. ansible-doc exits with code 0 even if it has not found the callback, so
// the output decides.
func (s Server) callback(ctx context.Context, p Play) (string, error) {
	out, err := s.Host.Output(ctx, sshexec.Command{
		Argv: []string{"ansible-doc", "-t", "callback", "--json", callbackLines}, Dir: p.Dir, Env: p.env(callbackText), Timeout: 2 * time.Minute,
	})
	var found map[string]json.RawMessage
	switch _, exited := errors.AsType[*sshexec.ExitError](err); {
	case exited:
		return callbackText, nil
	case err != nil:
		return "", err
	case json.Unmarshal(out, &found) == nil && found[callbackLines] != nil:
		return callbackLines, nil
	default:
		return callbackText, nil
	}
}

// interrupted returns the error of a run whose end the caller has not seen. It stops the run unless the cause is a
// shutdown.
func (s Server) interrupted(ctx context.Context, p Play, task string, err error) error {
	in := ""
	if task != "" {
		in = " in task " + task
	}
	name := p.Playbook + " on " + s.Host.Name()
	switch cause := context.Cause(ctx); {
	case errors.Is(err, sshexec.ErrJobLost):
		err = fmt.Errorf("ansible: %s was lost%s: the server restarted or the run was killed; a new attempt starts it again: %w", name, in, err)
		if ctx.Err() == nil {
			err = errors.Join(err, s.stop(ctx, p.Name))
		}
		return err
	case cause == nil:
		return fmt.Errorf("ansible: %s: %w", p.Playbook, err)
	case errors.Is(cause, vnflcm.ErrShutdown), errors.Is(cause, vnflcm.ErrLeased):
		return fmt.Errorf("ansible: %s continues%s: %w", name, in, cause)
	default:
		stopped := s.stop(context.WithoutCancel(ctx), p.Name)
		if stopped != nil {
			return fmt.Errorf("ansible: %s was to be stopped%s: %w; it may still run: %w", name, in, cause, stopped)
		}
		return fmt.Errorf("ansible: %s was stopped%s: %w", name, in, cause)
	}
}

// stop stops the run of this name, whatever its state, and removes its files.
func (s Server) stop(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	if err := s.Host.Job(name, "").Cancel(ctx); err != nil {
		return err
	}
	return s.clean(ctx, name)
}

// clean removes the files of a run that has ended.
func (s Server) clean(ctx context.Context, name string) error {
	_, err := persist(ctx, func() (struct{}, error) {
		return struct{}{}, s.Host.Exec(ctx, sshexec.Command{Argv: []string{"/bin/sh", "-c", cleanScript, "sh", files(name)}})
	})
	return err
}

// Forget stops the run of this name if it is still running, and removes everything that the server has of it. Forget
// returns nil if there is no such run.
func (s Server) Forget(ctx context.Context, name string) error {
	if err := s.forget(ctx, name); err != nil {
		return fmt.Errorf("ansible: %w", err)
	}
	return nil
}

func (s Server) forget(ctx context.Context, name string) error {
	if err := s.stop(ctx, name); err != nil {
		return err
	}
	_, err := persist(ctx, func() (struct{}, error) { return struct{}{}, s.Host.Job(name, "").Remove(ctx) })
	return err
}

// persist repeats ask while the server cannot be reached. ask must be safe to repeat.
func persist[T any](ctx context.Context, ask func() (T, error)) (out T, err error) {
	unreachable := func(err error) bool {
		return errors.Is(err, sshexec.ErrConnect) || errors.Is(err, sshexec.ErrDisconnected)
	}
	err = retry.Policy{First: 250 * time.Millisecond, Most: 5 * time.Second, Within: reachLimit, If: unreachable}.Do(ctx, func() (err error) {
		out, err = ask()
		return err
	})
	return out, err
}
