package ansible

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Lines that the default callback of Ansible 2.9 to 2.19 writes.
var (
	mark       = regexp.MustCompile(`^(PLAY RECAP|NO MORE HOSTS LEFT|PLAY) \*{3,}$`)
	banner     = regexp.MustCompile(`^(PLAY|TASK|RUNNING HANDLER|CLEANUP TASK) \[(.*)\] \*{3,}$`)
	broken     = regexp.MustCompile(`^(PLAY|TASK|RUNNING HANDLER) \[(.*[^*])$`) // the name continues in the next line
	outcome    = regexp.MustCompile(`^(ok|changed|skipping|failed|fatal): \[([^\]]+)\](.*)$`)
	included   = regexp.MustCompile(`^included: (?:.*) for (.+?)(?: => \(item=.*)?$`)
	recapOf    = regexp.MustCompile(`^(\S+)\s+: (ok=\d+\s.*)$`)
	recapField = regexp.MustCompile(`([a-z]+)=(\d{1,9})`)
)

// maxBlock bounds a result that has several lines.
const maxBlock = 1 << 20

// textReader reads the output of the default callback.
type textReader struct {
	reading *reading
	inRecap bool
	// block is a result with several lines of which not all have been read.
	block *block
	// fatal is the host of the last result, if that was a failure. If the next line is "...ignoring", the playbook ignored
	// this failure.
	fatal string
	// items are the hosts on which a loop of the current task runs, order their order. The results of all items become one
	// event per host.
	items   map[string]*loop
	order   []string
	ignored bool // the playbook ignores the failures of the loop
}

type block struct {
	text strings.Builder
	done func(json string)
}

// loop is the combined result of a loop on one host.
type loop struct {
	kind EventKind
	said []string
}

// weight orders the results of items: the result with the highest weight is the result of the task.
var weight = map[EventKind]int{HostSkipped: 0, HostOK: 1, HostChanged: 2, HostFailed: 3}

func (t *textReader) line(text string) {
	t.reading.say(text)
	if t.block != nil && t.continued(text) {
		return
	}
	if text == "...ignoring" {
		t.ignoring()
		return
	}
	if kind, name, ok := heading(text); ok {
		t.banner(kind, name)
		return
	}
	if t.inRecap && t.recapLine(text) {
		return
	}
	if m := outcome.FindStringSubmatch(text); m != nil {
		t.outcome(m[1], m[2], m[3])
		return
	}
	if m := included.FindStringSubmatch(text); m != nil {
		for _, host := range strings.Split(m[1], ", ") {
			t.item(host, HostOK, "")
		}
	}
}

// heading parses a line that begins a play, a task or the recap.
func heading(text string) (kind, name string, ok bool) {
	if m := mark.FindStringSubmatch(text); m != nil {
		return m[1], "", true
	}
	for _, form := range []*regexp.Regexp{banner, broken} {
		if m := form.FindStringSubmatch(text); m != nil {
			return m[1], strings.TrimSuffix(m[2], "] [CHECK MODE"), true
		}
	}
	return "", "", false
}

// continued adds a line to the current block. It returns false for a line that cannot belong to the block.
func (t *textReader) continued(text string) bool {
	inside := strings.HasPrefix(text, " ") || text == "}"
	if inside && t.block.text.Len()+len(text) <= maxBlock {
		t.block.text.WriteString(text + "\n")
	}
	if inside && text != "}" {
		return true
	}
	b := t.block
	t.block = nil
	b.done(b.text.String())
	return inside
}

// after calls done with the JSON that begins in a line and may continue in the next lines.
func (t *textReader) after(text string, done func(json string)) {
	if text == "{" {
		t.block = &block{done: done}
		t.block.text.WriteString("{\n")
		return
	}
	done(text)
}

func (t *textReader) banner(kind, name string) {
	t.endTask()
	t.inRecap = kind == "PLAY RECAP"
	switch kind {
	case "PLAY RECAP":
		t.reading.startRecap()
	case "PLAY":
		t.reading.startPlay(name)
	case "NO MORE HOSTS LEFT":
	default:
		t.reading.startTask(name)
	}
}

func (t *textReader) outcome(word, label, rest string) {
	host, _, _ := strings.Cut(label, " -> ") // delegated task
	t.fatal = ""
	switch {
	case word == "failed":
		if item, ok := resultOf(strings.TrimPrefix(rest, " (item=")); ok {
			t.after(item, func(text string) { t.failedItem(host, text) })
		}
		return
	case strings.HasPrefix(rest, " => (item="):
		t.item(host, map[string]EventKind{"ok": HostOK, "changed": HostChanged, "skipping": HostSkipped}[word], "")
		return
	}
	delete(t.items, host) // this line is the result of the whole loop
	switch word {
	case "ok":
		t.reading.result(Event{Kind: HostOK, Host: host})
	case "changed":
		t.reading.result(Event{Kind: HostChanged, Host: host})
	case "skipping":
		t.reading.result(Event{Kind: HostSkipped, Host: host})
	case "fatal":
		kind := HostFailed
		text, found := strings.CutPrefix(rest, ": FAILED! => ")
		if !found {
			kind = Unreachable
			text = strings.TrimPrefix(rest, ": UNREACHABLE! => ")
		}
		t.after(text, func(text string) {
			t.reading.result(Event{Kind: kind, Host: host, Message: explainResult(json.RawMessage(text))})
			t.fatal = host
		})
	}
}

// resultOf finds the JSON behind the label of an item. The label may be any text.
func resultOf(text string) (string, bool) {
	const arrow, most = ") => {", 8
	for at, tries := 0, 0; tries < most; tries++ {
		i := strings.Index(text[at:], arrow)
		if i < 0 {
			break
		}
		at += i + len(arrow)
		if rest := text[at-1:]; rest == "{" || json.Valid([]byte(rest)) {
			return rest, true
		}
	}
	return "{}", strings.Contains(text, arrow)
}

func (t *textReader) failedItem(host, text string) {
	var r result
	if json.Unmarshal([]byte(text), &r) != nil {
		t.item(host, HostFailed, "")
		return
	}
	t.item(host, HostFailed, r.explainItem())
}

// item adds the result of one item of a loop.
func (t *textReader) item(host string, kind EventKind, said string) {
	if t.items == nil {
		t.items = map[string]*loop{}
	}
	l := t.items[host]
	if l == nil {
		l = &loop{kind: kind}
		t.items[host] = l
		t.order = append(t.order, host)
	}
	if weight[kind] > weight[l.kind] {
		l.kind = kind
	}
	if kind == HostFailed && len(l.said) <= 100 {
		l.said = append(l.said, said)
	}
}

// ignoring handles a line "...ignoring", which is about the failure before it or, after a loop, about the loop of the
// current task.
func (t *textReader) ignoring() {
	if t.fatal != "" {
		t.reading.pass(t.fatal)
		t.fatal = ""
		return
	}
	t.ignored = true
}

// endTask reports the results of the loops of the task.
func (t *textReader) endTask() {
	for _, host := range t.order {
		l := t.items[host]
		if l == nil {
			continue
		}
		delete(t.items, host)
		t.reading.result(Event{Kind: l.kind, Host: host, Message: joined(l.said)})
		if l.kind == HostFailed && t.ignored {
			t.reading.pass(host)
		}
	}
	t.items, t.order, t.ignored, t.fatal = nil, nil, false, ""
}

// recapLine reads the counts of a host. It returns false for a line that ends the recap.
func (t *textReader) recapLine(text string) bool {
	m := recapOf.FindStringSubmatch(text)
	if m == nil {
		t.inRecap = text == ""
		return t.inRecap
	}
	var recap HostRecap
	fields := map[string]*int{
		"ok": &recap.OK, "changed": &recap.Changed, "unreachable": &recap.Unreachable, "failed": &recap.Failed,
		"skipped": &recap.Skipped, "rescued": &recap.Rescued, "ignored": &recap.Ignored,
	}
	for _, f := range recapField.FindAllStringSubmatch(m[2], -1) {
		if into := fields[f[1]]; into != nil {
			*into, _ = strconv.Atoi(f[2]) // the expression matches digits only
		}
	}
	t.reading.recap[m[1]] = recap
	return true
}

// end finishes a result that the end of the output has cut off.
func (t *textReader) end() {
	if b := t.block; b != nil {
		t.block = nil
		b.done(b.text.String())
	}
	t.endTask()
}
