package vnflcm

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// failure is the error with which the work on an operation ends, with a text for people: first why the work was stopped, if it was, then a
// line for each reason. A step that has failed on several machines for the same reason is in one line.
type failure struct {
	error
	text string
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.error }

// newFailure returns err as a failure. stopped is why the work was stopped, nil if it was not.
func newFailure(err, stopped error) *failure {
	list := reasonsOf(err)
	var out []string
	if stopped != nil && errors.Is(err, stopped) {
		out = []string{stopped.Error()}
		list = withoutCause(list, stopped.Error())
	}
	for _, r := range grouped(list) {
		out = append(out, r.String())
	}
	return &failure{err, strings.Join(out, "\n")}
}

// mostDescribed is for how many machines a line has host name, address and id beside the name.
const mostDescribed = 5

// reason is why a step has failed, or something else if step is "".
type reason struct {
	step string
	on   []machine
	text string
}

// machine has the long and the short name of a machine.
type machine struct{ long, short string }

func (r reason) String() string {
	switch {
	case r.step == "":
		return r.text
	case r.on[0].long == "":
		return r.step + ": " + r.text
	}
	names := make([]string, len(r.on))
	for i, m := range r.on {
		if names[i] = m.long; len(r.on) > mostDescribed {
			names[i] = m.short
		}
	}
	return r.step + " on " + strings.Join(names, ", ") + ": " + r.text
}

// reasonsOf returns the reasons that are joined in err.
func reasonsOf(err error) (out []reason) {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case *StepError:
		var texts []string
		for _, r := range reasonsOf(e.Err) {
			texts = append(texts, e.withoutMachine(r.String()))
		}
		return []reason{{step: e.Phase + ": " + e.Name, on: []machine{{e.machine(), cmp.Or(e.Host, e.On)}}, text: lines(texts)}}
	case interface{ Unwrap() []error }:
		if all := e.Unwrap(); errors.Join(all...).Error() == err.Error() {
			for _, each := range all {
				out = append(out, reasonsOf(each)...)
			}
			return out
		}
	}
	return []reason{{text: err.Error()}}
}

// lines joins texts, of equal ones the first.
func lines(texts []string) string {
	var out []string
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

// withoutCause removes the cause for which the work was stopped from reasons. A step that has no other reason was stopped.
func withoutCause(list []reason, cause string) (out []reason) {
	for _, r := range list {
		text := strings.ReplaceAll(r.text, cause+"; last: ", "") // of package retry
		text = strings.TrimPrefix(strings.ReplaceAll(text, cause, "stopped"), "stopped\n")
		if r.text = text; r.step != "" || text != "stopped" {
			out = append(out, r)
		}
	}
	return out
}

// grouped joins the machines of reasons that are equal otherwise.
func grouped(list []reason) (out []reason) {
	for _, r := range list {
		i := slices.IndexFunc(out, func(o reason) bool { return o.step == r.step && o.text == r.text })
		switch {
		case i < 0:
			out = append(out, r)
		case r.step != "" && !slices.Contains(out[i].on, r.on[0]):
			out[i].on = append(out[i].on, r.on[0])
		}
	}
	return out
}
