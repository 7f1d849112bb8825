package mgmttest

import (
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// CheckNames instantiates a VNF, which must fail on a machine, and checks that the preview, the error, the events and the history give the
// machine this name, and that the error has the id of its VNFC once.
func (l *Lab) CheckNames(name string, request vnflcm.InstantiateVnfRequest, in ...*vnflcm.Manager) {
	l.t.Helper()
	m, id := l.in(in), l.Created()
	preview, err := m.Preview(l.t.Context(), id, request)
	check(l.t, err)
	if !slices.ContainsFunc(preview.Tasks, func(t vnflcm.PlannedTask) bool { return t.Machine == name }) {
		l.t.Errorf("the preview has no machine %s:\n%s", name, preview)
	}
	opID, err := m.Instantiate(l.t.Context(), id, request)
	text := l.Fails(opID, err, m).Error()
	vnfc := ""
	for _, e := range l.Events() {
		if e.OperationID == opID && e.Host == name {
			vnfc = e.On
		}
	}
	if vnfc == "" || !strings.Contains(text, name+" (") || strings.Count(text, vnfc) != 1 {
		l.t.Errorf("the error does not have the name %s and the id %q once: %s", name, vnfc, text)
	}
	for _, e := range l.Events() {
		if e.OperationID == opID && e.On == vnfc && e.Host != name {
			l.t.Errorf("the event %s of step %s is on %q", e.Kind, e.Name, e.Host)
		}
	}
	history, err := m.History(l.t.Context(), opID)
	check(l.t, err)
	for _, p := range history {
		if p.On == vnfc && p.Host != name {
			l.t.Errorf("in the history the step %s is on %q", p.Step, p.Host)
		}
	}
}
