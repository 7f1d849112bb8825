package sshtest

import (
	"sort"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
)

// environ is the initial environment of a shell. It also has a value for each variable that the interpreter would otherwise
// take from the real machine.
type environ struct {
	values   map[string]string
	task     *task
	users    *users
	user     string
	starting bool
}

func newEnviron(p *Process) *environ {
	e := &environ{values: map[string]string{}, task: p.task, users: p.host.users, user: p.User}
	for _, pair := range p.Environ {
		name, value, _ := strings.Cut(pair, "=")
		e.values[name] = value
	}
	return e
}

// nowhere is a path that cannot be a directory. It is the TMPDIR with which the interpreter starts, the directory for the named
// pipes of process substitutions. parse refuses process substitutions in the script itself; with this TMPDIR those in text for
// eval, trap or source fail too.
const nowhere = "/dev/null/sshtest"

func (e *environ) start(runner *interp.Runner) {
	e.starting = true
	runner.Reset()
	e.starting = false
}

func (e *environ) Get(name string) expand.Variable {
	if name == "TMPDIR" && e.starting {
		return variable(nowhere, false)
	}
	if value, ok := e.values[name]; ok {
		return variable(value, true)
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok { // ~user
		return variable(homeOf(user), false)
	}
	switch name {
	case varPID:
		return variable(strconv.Itoa(e.task.pid), false)
	case varParent:
		return variable(strconv.Itoa(e.task.parent()), false)
	case "HOME":
		return variable(homeOf(e.user), false)
	case "UID", "EUID", "GID":
		return variable(e.users.id(e.user), false)
	}
	return expand.Variable{}
}

func (e *environ) Each(fn func(name string, vr expand.Variable) bool) {
	// A background job copies these variables.
	if !fn(varPID, e.Get(varPID)) || !fn(varParent, e.Get(varParent)) {
		return
	}
	names := make([]string, 0, len(e.values))
	for name := range e.values {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if !fn(name, variable(e.values[name], true)) {
			return
		}
	}
}

func variable(value string, exported bool) expand.Variable {
	return expand.Variable{Set: true, Exported: exported, Kind: expand.String, Str: value}
}

// exported returns the environment of a program that the shell starts.
func exported(env expand.Environ) []string {
	values := map[string]string{}
	env.Each(func(name string, vr expand.Variable) bool {
		delete(values, name)
		if vr.IsSet() && vr.Exported && vr.Kind == expand.String {
			values[name] = vr.Str
		}
		return true
	})
	pairs := make([]string, 0, len(values))
	for name, value := range values {
		pairs = append(pairs, name+"="+value)
	}
	return pairs
}
