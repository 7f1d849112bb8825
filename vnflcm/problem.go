package vnflcm

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm/internal/code"
)

// Code is a class of error with a stable name: errors.Is finds it in an error just returned and, by its
// name, in the ProblemDetails read back from a store.
type Code = code.Code

// The codes of this package. Whether a retry of the same operation can help is said with each.
const (
	ErrInvalidRequest Code = "invalid-request"       // no: the request or the package must change
	ErrNotFound       Code = "not-found"             // no
	ErrConflict       Code = "conflict"              // yes, later: another operation holds the instance, or another writer was faster
	ErrState          Code = "state"                 // no: the instance or operation is not in a state that allows this
	ErrNotSupported   Code = "not-supported"         // no: the driver cannot do this
	ErrCancelled      Code = "cancelled"             // yes: the operation was cancelled on request
	ErrShutdown       Code = "shutdown"              // yes, by itself: the process ended, or cannot continue, another process continues the operation
	ErrLeased         Code = "leased"                // yes, later: another process works on the operation
	ErrPackageChanged Code = "package-changed"       // no: the VNF package is not the one the instance was made from
	ErrGrantRejected  Code = "grant-rejected"        // no
	ErrNoNFVO         Code = "nfvo-unreachable"      // yes, later: the NFVO does not answer
	ErrProgramming    Code = "step-misused"          // no: a driver broke the rules of Run
	ErrDriverAnswer   Code = "driver-answer"         // yes, once the VIM or the driver is mended: an InfraDriver reports other VNFCs than it announced
	ErrUnreadable     Code = "store-record-unsealed" // no: wrong key, or a damaged record
	ErrNoPackage      Code = "package-not-found"     // no: Config.Packages has no package for the vnfdId of the request
	ErrPrecondition   Code = "precondition"          // no: the instance has changed since the caller read it
	ErrStore          Code = "store"                 // yes, later: the Store has failed
	ErrProcessEnded   Code = "process-ended"         // yes, once the reason is mended: the operation ended its process again and again
	ErrBusy           Code = "busy"                  // yes, later: too many lists are read, or VIMs checked, at once, or the VNF package is being downloaded
	ErrPaused         Code = "paused"                // yes: a change of the package is paused, as its request asked; a retry continues it
)

// CommandFailure is found, by errors.As, in the error of a command on a host, whichever package ran it.
type CommandFailure interface {
	error
	CommandFailure() (host, command string, exitCode int, stderr string)
}

// ProblemDetails says what went wrong with an operation (SOL003 v2.6.1 4.3.5.3, RFC 7807), with the failed
// steps in addition. It is an error; errors.Is(p, code) holds for the codes of the error it was made from.
type ProblemDetails struct {
	Type   string        `json:"type,omitempty"`
	Title  string        `json:"title,omitempty"`
	Status int           `json:"status"`
	Detail string        `json:"detail"`
	Codes  []Code        `json:"codes,omitempty"`
	Steps  []StepFailure `json:"steps,omitempty"`
}

// StepFailure is one step that failed and, if a command was the cause, that command.
type StepFailure struct {
	Phase    string `json:"phase"`
	Step     string `json:"step"`
	On       string `json:"on,omitempty"`
	Host     string `json:"host,omitempty"`
	Command  string `json:"command,omitempty"`
	ExitCode int    `json:"exitCode,omitempty"`
	Stderr   string `json:"stderr,omitempty"`
	Message  string `json:"message"`
}

// Problem describes an error of a Manager's method for the answer to a request, with the status that SOL003 gives it:
//
//	404 ErrNotFound, ErrNotSupported (a task that the VNF does not support does not exist, SOL003 v2.6.1 5.4.15.3.1)
//	409 ErrConflict, ErrState, ErrPackageChanged
//	412 ErrPrecondition
//	422 ErrInvalidRequest, ErrNoPackage (SOL003 v2.6.1 5.4.2.3.1)
//	503 ErrStore, ErrShutdown, ErrLeased, ErrBusy, ErrNoNFVO: the same request may succeed later
//	500 all others
//
// Of several codes, the first one of this list counts. Problem returns nil for a nil error.
func Problem(err error) *ProblemDetails {
	if err == nil {
		return nil
	}
	p := newProblem(err, newMasker(nil))
	p.Status = http.StatusInternalServerError
	for _, known := range statuses {
		if errors.Is(p, known.code) {
			p.Status = known.status
			break
		}
	}
	p.Title = http.StatusText(p.Status)
	return p
}

var statuses = []struct {
	code   Code
	status int
}{
	{ErrNotFound, http.StatusNotFound}, {ErrNotSupported, http.StatusNotFound},
	{ErrPrecondition, http.StatusPreconditionFailed}, {ErrConflict, http.StatusConflict}, {ErrState, http.StatusConflict}, {ErrPackageChanged, http.StatusConflict},
	{ErrInvalidRequest, http.StatusUnprocessableEntity}, {ErrNoPackage, http.StatusUnprocessableEntity},
	{ErrStore, http.StatusServiceUnavailable}, {ErrShutdown, http.StatusServiceUnavailable}, {ErrLeased, http.StatusServiceUnavailable},
	{ErrBusy, http.StatusServiceUnavailable}, {ErrNoNFVO, http.StatusServiceUnavailable},
}

func (p *ProblemDetails) Error() string { return p.Detail }

// Is reports whether p was made from an error of that Code.
func (p *ProblemDetails) Is(target error) bool {
	code, ok := target.(Code)
	return ok && slices.Contains(p.Codes, code)
}

func newProblem(err error, m *masker) *ProblemDetails {
	names := paramPaths(err)
	mask := func(text string) string { return bounded.Text(m.applyExcept(text, names), maxStepText) }
	p := &ProblemDetails{Status: http.StatusInternalServerError, Title: "operation failed", Detail: m.applyTo(err)}
	collectProblem(err, p)
	slices.Sort(p.Codes)
	p.Codes = slices.Compact(p.Codes)
	if slices.Contains(p.Codes, ErrInvalidRequest) {
		p.Status = http.StatusUnprocessableEntity
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Host, s.Message, s.Command, s.Stderr = mask(s.Host), mask(s.Message), mask(s.Command), mask(s.Stderr)
	}
	return p
}

// collectProblem walks the whole tree of err: a fan-out joins many.
func collectProblem(err error, p *ProblemDetails) {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case nil:
		return
	case *ProblemDetails:
		p.Codes = append(p.Codes, e.Codes...)
		return
	case *ParamError:
		p.Codes = append(p.Codes, ErrInvalidRequest)
	case *UnreachableError:
		p.Codes = append(p.Codes, ErrNoNFVO)
	case *StepError:
		p.Steps = append(p.Steps, stepFailures(e)...)
	case Code:
		p.Codes = append(p.Codes, e)
	}
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case interface{ Unwrap() error }:
		collectProblem(e.Unwrap(), p)
	case interface{ Unwrap() []error }:
		for _, each := range e.Unwrap() {
			collectProblem(each, p)
		}
	}
}

func stepFailures(e *StepError) []StepFailure {
	f := StepFailure{Phase: e.Phase, Step: e.Name, On: e.On, Host: e.Host, Message: e.withoutMachine(e.Err.Error())}
	if c, ok := errors.AsType[CommandFailure](e.Err); ok {
		f.Host, f.Command, f.ExitCode, f.Stderr = c.CommandFailure()
	}
	return []StepFailure{f}
}

// causeOf prefers why a context ended over that it ended.
func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return errors.Join(cause, err)
}
