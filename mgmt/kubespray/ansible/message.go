package ansible

import (
	"encoding/json"
	"fmt"
	"strings"
)

// result is the result of a module. Modules may return anything, so each field is decoded separately.
type result map[string]json.RawMessage

// explainResult returns a short reason why a task failed on a host.
func explainResult(raw json.RawMessage) string {
	var r result
	if json.Unmarshal(raw, &r) != nil {
		return strings.TrimSpace(string(raw))
	}
	return r.explain()
}

func (r result) explain() string {
	if _, hidden := r["censored"]; hidden {
		return "hidden by no_log"
	}
	var items []result
	if json.Unmarshal(r["results"], &items) == nil {
		var said []string
		for _, item := range items {
			if item.truth("failed") || item.truth("unreachable") {
				said = append(said, item.explainItem())
			}
		}
		if len(said) > 0 {
			return joined(said)
		}
	}
	text := r.text("msg")
	if text != "" && !strings.HasPrefix(text, "non-zero return code") && !strings.Contains(text, "See stdout/stderr for the exact error") {
		return text
	}
	for _, stream := range []string{"stderr", "module_stderr", "stdout", "module_stdout", "exception"} {
		if last := lastLines(r.text(stream)); last != "" {
			if text != "" {
				text, _, _ = strings.Cut(text, "\n")
				text += ": "
			}
			return text + last
		}
	}
	return text
}

// explainItem is like explain for an item of a loop, and names the item.
func (r result) explainItem() string {
	if label := r.text(r.text("ansible_loop_var")); label != "" && !strings.HasPrefix(label, "{") && !strings.HasPrefix(label, "[") {
		return "item " + label + ": " + r.explain()
	}
	return r.explain()
}

// shownItems is how many items of a loop a message names.
const shownItems = 3

func joined(items []string) string {
	text := strings.Join(items[:min(len(items), shownItems)], "; ")
	if more := len(items) - shownItems; more > 0 {
		text += fmt.Sprintf("; and %d more items", more)
	}
	return text
}

func (r result) truth(key string) bool { return string(r[key]) == "true" }

// text returns a field as text: a string unchanged, any other value as JSON.
func (r result) text(key string) string {
	raw, there := r[key]
	if !there || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return strings.TrimSpace(text)
}

// lastLines returns the last lines of a program's output, because programs print errors at the end.
func lastLines(text string) string {
	const most = 3
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
