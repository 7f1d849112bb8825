package ansible_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
)

const (
	textCallback  = "default"
	linesCallback = "ansible.posix.jsonl"
)

func read(callback, text string, secrets ...string) ([]ansible.Event, map[string]ansible.HostRecap) {
	var events []ansible.Event
	recap := ansible.Read([]byte(ansible.Header(callback)+text), 1000, secrets, nil, func(e ansible.Event) { events = append(events, e) })
	return events, recap
}

// TestReadText reads unusual output of the default callback.
func TestReadText(t *testing.T) {
	t.Parallel()
	const begin = "PLAY [p] ***\n\nTASK [t] ***\n"
	failed := func(host, message string, ignored bool) ansible.Event {
		return ansible.Event{Kind: ansible.HostFailed, Play: "p", Task: "t", Host: host, Message: message, Ignored: ignored}
	}
	for name, test := range map[string]struct {
		text string
		want []ansible.Event // after the events of the beginning
	}{
		"block over lines": {
			"fatal: [h]: FAILED! => {\n    \"assertion\": \"x\",\n    \"msg\": \"Assertion failed\"\n}\n...ignoring\nok: [i]\n",
			[]ansible.Event{failed("h", "Assertion failed", true), {Kind: ansible.HostOK, Play: "p", Task: "t", Host: "i"}},
		},
		"block broken off": {
			"fatal: [h]: FAILED! => {\n    \"msg\": \"x\"\n\nPLAY RECAP ***\nh : ok=0 changed=0 unreachable=0 failed=1\n",
			[]ansible.Event{failed("h", "{\n    \"msg\": \"x\"", false)},
		},
		"warnings between": {
			"[WARNING]: x\nfatal: [h]: FAILED! => {\"msg\": \"x\"}\n[DEPRECATION WARNING]: y\n...ignoring\n",
			[]ansible.Event{failed("h", "x", true)},
		},
		"items": {
			"ok: [h] => (item=a) => {\n    \"msg\": 1\n}\nfailed: [h -> d(10.0.0.1)] (item={'k': 'v) => {'}) => {\"msg\": \"x\", \"item\": {\"k\": 1}, \"ansible_loop_var\": \"item\"}\n" +
				"failed: [h] (item=2) => {\"msg\": \"y\", \"item\": 2, \"ansible_loop_var\": \"item\"}\nchanged: [i] => (item=a)\nskipping: [i] => (item=b) \n",
			[]ansible.Event{{Kind: ansible.HostChanged, Play: "p", Task: "t", Host: "i"}, failed("h", "x; item 2: y", false)},
		},
		"many items": {
			strings.Repeat("failed: [h] (item=1) => {\"msg\": \"x\"}\n", 500) + "...ignoring\n\nPLAY RECAP ***\n",
			[]ansible.Event{failed("h", "x; x; x; and 98 more items", true)},
		},
		"delegated": {
			"changed: [h -> d(10.0.0.1)]\nfatal: [i -> d]: UNREACHABLE! => {\"msg\": \"gone\", \"unreachable\": true}\n",
			[]ansible.Event{
				{Kind: ansible.HostChanged, Play: "p", Task: "t", Host: "h"},
				{Kind: ansible.Unreachable, Play: "p", Task: "t", Host: "i", Message: "gone"},
			},
		},
		"names": {
			"TASK [a] [b] ***\nRUNNING HANDLER [r : h [x]] [CHECK MODE] *****\nTASK [first\nsecond] ****\nPLAY ***\n",
			[]ansible.Event{
				{Kind: ansible.TaskStarted, Play: "p", Task: "a] [b"}, {Kind: ansible.TaskStarted, Play: "p", Task: "r : h [x]"},
				{Kind: ansible.TaskStarted, Play: "p", Task: "first"}, {Kind: ansible.PlayStarted},
			},
		},
		"no JSON":     {"fatal: [h]: FAILED! => nothing\n", []ansible.Event{failed("h", "nothing", false)}},
		"odd results": {"fatal: [h]: FAILED! => {\"msg\": [1, {\"a\": null}], \"results\": 7}\n", []ansible.Event{failed("h", `[1, {"a": null}]`, false)}},
		"module failed": {
			`fatal: [h]: FAILED! => {"msg": "MODULE FAILURE\nSee stdout/stderr for the exact error", "module_stderr": "Traceback\n  File\nKeyError: 'x'\n", "rc": 1}` + "\n",
			[]ansible.Event{failed("h", "MODULE FAILURE: Traceback\n  File\nKeyError: 'x'", false)},
		},
		"profile": {"Friday 21 November 2025  17:56:00 +0000 (0:00:00.017)       0:00:00.017 ******* \n=============== \n", nil},
		"control": {"fatal: [h]: FAILED! => {\"msg\": \"a\\u001b[31m\\tb\\u202e\"}\n", []ansible.Event{failed("h", "a[31m b", false)}},
		"cut off": {"ok: [h]\nfatal: [h]: FAILED! => {\"msg\": \"half a sec", []ansible.Event{{Kind: ansible.HostOK, Play: "p", Task: "t", Host: "h"}}},
	} {
		t.Run(name, func(t *testing.T) {
			events, _ := read(textCallback, begin+test.text)
			if diff := cmp.Diff(test.want, append([]ansible.Event(nil), events[2:]...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadLines reads lines of JSON with other text between and in them.
func TestReadLines(t *testing.T) {
	t.Parallel()
	long := fmt.Sprintf(`{"_event":"v2_runner_on_ok","_timestamp":"T","hosts":{"h":{"changed":true,"stdout":"%s"}},"task":{"name":"t"}}`, strings.Repeat("x", 9<<20))
	text := strings.Join([]string{
		"[WARNING]: x", "Vault password: ", "{", `{"a": 1}`, `{"_event": 7}`, `{"_event":"v2_playbook_on_play_start","play":{"name":"p"}}`,
		`{"_event":"v2_runner_on_start","task":{"name":"t"}}`, `{"_event":"v2_runner_on_start","task":{"name":"t"}}`,
		`{"_event":"v2_runner_on_ok","hosts":{"g":{"changed":"yes"}},"task":{"name":"t"}}`,
		`{"_event":"v2_runner_on_ok","hosts":{"g":7},"task":{"name":"t"}}`, long,
		`{"_event":"v2_runner_on_failed","hosts":{"h":{"msg":"x"}},"task":{"name":"t"}}`, `{"_event":"v2_runner_on_odd","hosts":{"h":{}}}`,
		`{"_event":"v2_playbook_on_stats","stats":{"h":{"failures":0,"ignored":1,"ok":2}}}`, "",
	}, "\n")
	events, recap := read(linesCallback, text)
	at := func(kind ansible.EventKind, host string) ansible.Event {
		return ansible.Event{Kind: kind, Play: "p", Task: "t", Host: host}
	}
	ignored := at(ansible.HostFailed, "h")
	ignored.Message, ignored.Ignored = "x", true
	want := []ansible.Event{
		{Kind: ansible.PlayStarted, Play: "p"}, at(ansible.TaskStarted, ""), at(ansible.HostOK, "g"), at(ansible.HostOK, "g"),
		at(ansible.HostOK, "h"), ignored,
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]ansible.HostRecap{"h": {OK: 2, Ignored: 1}}, recap); diff != "" {
		t.Error(diff)
	}
}

// TestMasked checks that secrets are masked in every form, wherever the stream is cut.
func TestMasked(t *testing.T) {
	t.Parallel()
	check := func(text string, secrets ...string) bool {
		var want string
		for piece := len(text) + 100; piece > 0; piece /= 2 {
			var out bytes.Buffer
			ansible.Read([]byte(ansible.Header(textCallback)+text), piece, secrets, &out, nil)
			if want == "" {
				want = out.String()
			}
			if out.String() != want {
				t.Errorf("in pieces of %d: %q, want %q", piece, out.String(), want)
				return false
			}
			for _, s := range secrets {
				if strings.Contains(out.String(), s) && !strings.Contains("***\n", s) {
					t.Errorf("%q is in %q", s, out.String())
					return false
				}
			}
		}
		return true
	}
	for _, secret := range []string{"x", "ab", "abab", "line one of it\nline two of it", `q"\'ü😀`} {
		ascii, _ := json.Marshal(secret)
		check(fmt.Sprintf("%s %s%s ababababab\n%s\n", secret, secret, secret, ascii), secret, "babc", "cab")
	}
	var out bytes.Buffer
	ansible.Read([]byte(ansible.Header(textCallback)+"aXabcdefXa\nsay \\u00fc\\\"1 and '\"'\"' x'\"'\"'y\n"), 3, []string{"abcd", "cdef", "ü\"1", "x'y"}, &out, nil)
	if want := "aX***Xa\nsay *** and '\"'\"' ***\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	ansible.Read([]byte(ansible.Header(textCallback)+"a secret\nhalf a secr"), 5, []string{"a secret"}, &out, nil)
	if !strings.HasPrefix(out.String(), "***\n") || strings.Contains(out.String(), "a s") {
		t.Errorf("cut off: got %q", out.String())
	}
	if err := quick.Check(func(words []uint8, a, b uint8) bool {
		letter := func(n uint8) string {
			return strings.Repeat(string(rune('a'+n%3)), 1+int(n)%2) + string(rune('a'+n/3%3))
		}
		var text strings.Builder
		for _, w := range words {
			text.WriteString(letter(w))
		}
		return check(text.String()+"\n", letter(a), letter(b)+letter(a))
	}, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

// big returns the output of a playbook with this many hosts and tasks.
func big(callback string, hosts, tasks int) []byte {
	var out bytes.Buffer
	out.WriteString(ansible.Header(callback))
	text := callback == textCallback
	if text {
		out.WriteString("PLAY [p] ***\n")
	} else {
		out.WriteString(`{"_event":"v2_playbook_on_play_start","play":{"name":"p"}}` + "\n")
	}
	for task := range tasks {
		if text {
			fmt.Fprintf(&out, "\nTASK [t%d] ***\n", task)
		} else {
			fmt.Fprintf(&out, `{"_event":"v2_playbook_on_task_start","task":{"name":"t%d"}}`+"\n", task)
		}
		for host := range hosts {
			switch {
			case text && task%3 == 1:
				fmt.Fprintf(&out, "fatal: [worker-%d]: FAILED! => {\"msg\": \"no\"}\n...ignoring\n", host)
			case text && task%3 == 2:
				fmt.Fprintf(&out, "ok: [worker-%d] => (item=1)\n", host)
			case text:
				fmt.Fprintf(&out, "ok: [worker-%d]\n", host)
			case task%3 == 1:
				fmt.Fprintf(&out, `{"_event":"v2_runner_on_failed","hosts":{"worker-%d":{"msg":"no"}},"task":{"name":"t%d"}}`+"\n", host, task)
			default:
				fmt.Fprintf(&out, `{"_event":"v2_runner_on_ok","hosts":{"worker-%d":{"changed":false}},"task":{"name":"t%d"}}`+"\n", host, task)
			}
		}
	}
	return out.Bytes()
}

func BenchmarkRead(b *testing.B) {
	for _, callback := range []string{textCallback, linesCallback} {
		for _, hosts := range []int{500, 5000} {
			text := big(callback, hosts, 9)
			b.Run(fmt.Sprintf("%s/%d", callback, hosts), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					ansible.Read(text, 64<<10, []string{"password"}, &bytes.Buffer{}, nil)
				}
			})
		}
	}
}

func seeds(f *testing.F, callback string) {
	f.Helper()
	content, err := os.ReadFile("testdata/site." + map[string]string{textCallback: "default", linesCallback: "jsonl"}[callback])
	if err != nil {
		f.Fatal(err)
	}
	for part := range slices.Chunk(content, 4000) { // the fuzzing engine minimizes inputs, which is slow for large ones
		f.Add(part, 7)
	}
	f.Add([]byte(goodText), 100)
	f.Add([]byte(goodLines), 1)
	f.Add([]byte("fatal: [h]: FAILED! => {\n{\nfatal: [h -> ]: UNREACHABLE! => {\n}\n...ignoring\n"), 3)
	f.Add([]byte("TASK [\nincluded: for for , => (item=\nfailed: [h] (item=) => {) => {) => {"), 3)
	f.Add([]byte(`{"_event":"v2_runner_on_failed","hosts":{"b":"","a":"","c":""}}`+"\n"), 3)
	f.Add([]byte("\r\n\x00{\"_event\":\"v2_runner_on_failed\",\"hosts\":{\"\":null}}\n"), 3)
}

// fuzz checks that the events do not depend on how the output is cut, that events can be printed, and that no secret
// appears.
func fuzz(t *testing.T, callback string, text []byte, piece int) {
	t.Helper()
	const secret = "S3cr"
	var all [2][]ansible.Event
	var out [2]bytes.Buffer
	for i, piece := range []int{len(text) + 100, 1 + max(0, piece)%100} {
		ansible.Read(append([]byte(ansible.Header(callback)), text...), piece, []string{secret}, &out[i], func(e ansible.Event) { all[i] = append(all[i], e) })
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		t.Error(diff)
	}
	if out[0].String() != out[1].String() {
		t.Errorf("%q, %q", out[0].String(), out[1].String())
	}
	if strings.Contains(out[0].String(), secret) {
		t.Error("a secret is in the output")
	}
	for _, e := range all[0] {
		line := e.Play + e.Task + e.Message
		if strings.ContainsAny(line, "\x00\x1b\r") || strings.Contains(e.Play+e.Task, "\n") || len(e.Message) > 2000 {
			t.Errorf("%+v", e)
		}
	}
}

func FuzzText(f *testing.F) {
	seeds(f, textCallback)
	f.Fuzz(func(t *testing.T, text []byte, piece int) { fuzz(t, textCallback, text, piece) })
}

func FuzzLines(f *testing.F) {
	seeds(f, linesCallback)
	f.Fuzz(func(t *testing.T, text []byte, piece int) { fuzz(t, linesCallback, text, piece) })
}
