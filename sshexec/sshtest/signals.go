package sshtest

import (
	"fmt"
	"strconv"
	"strings"
)

// signalNumbers are the signals that can be sent to a process.
var signalNumbers = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CONT": 18,
}

// signal applies the effect of a signal to the process.
func (t *task) signal(signal string) {
	if signal == "CONT" {
		return // processes here cannot be stopped
	}
	t.mu.Lock()
	action, trapped := t.traps[signal]
	switch {
	case trapped && signal != "KILL":
		if action != "" {
			t.pending = append(t.pending, signal)
			select {
			case t.noticed <- struct{}{}:
			default:
			}
		}
		t.mu.Unlock()
		return
	case t.killedBy == "" || signal == "KILL":
		t.killedBy = signal
	}
	t.cancel()
	onKill := t.onKill
	t.mu.Unlock()
	if onKill != nil {
		onKill(signal)
	}
	if signal == "KILL" {
		t.end(exitKilled)
	}
}

// killed returns the exit code of a process that a signal has ended; false if no signal has.
func (t *task) killed() (code int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return 128 + signalNumbers[t.killedBy], t.killedBy != ""
}

// trap sets the action for a signal; reset restores the default, which ends the process.
func (t *task) trap(signal, action string, reset bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if reset {
		delete(t.traps, signal)
		return
	}
	t.traps[signal] = action
}

// due returns the text of the traps of the pending signals.
func (t *task) due() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text []string
	for _, signal := range t.pending {
		if action := t.traps[signal]; action != "" {
			text = append(text, action)
		}
	}
	t.pending = nil
	select {
	case <-t.noticed:
	default:
	}
	return strings.Join(text, "\n")
}

// signalName returns the name of a signal without SIG, given by name or number.
func signalName(text string) (string, error) {
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	for signal, number := range signalNumbers {
		if name == signal || name == strconv.Itoa(number) {
			return signal, nil
		}
	}
	return "", fmt.Errorf("%s: invalid signal specification", text)
}

func (t *task) firstPending() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) == 0 {
		return signalNumbers["TERM"]
	}
	return signalNumbers[t.pending[0]]
}
