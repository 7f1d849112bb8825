package mask_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/mask"
)

func TestMask(t *testing.T) {
	tests := map[string]struct {
		text    string
		secrets []string
		want    string
	}{
		"no secrets":           {"a b c", nil, "a b c"},
		"an empty secret":      {"a b c", []string{""}, "a b c"},
		"one byte":             {"a b c", []string{"b"}, "a *** c"},
		"within a word":        {"password hunter2!", []string{"hunter2"}, "password ***!"},
		"overlapping":          {"abcdef", []string{"bc", "cde"}, "a***f"},
		"one within the other": {"hunter22", []string{"hunter2", "hunter22"}, "***"},
		"overlapping itself":   {"aaaa", []string{"aa"}, "***"},
		"adjoining":            {"=onetwo.", []string{"two", "one"}, "=***."},
		"white space around":   {"=secret.", []string{" secret\n"}, "=***."},
		"lines of a key":       {"key:\n  MIIEabcdefgh\r\n  IJKLmnopqrst", []string{"MIIEabcdefgh\n  IJKLmnopqrst"}, "key:\n  ***\r\n  ***"},
		"shell":                {`x 'it'"'"'s' y 'it'\''s'`, []string{"it's"}, `x *** y '***'`},
		"JSON":                 {`"a\"b<c>" "a\"b\u003cc\u003e"`, []string{`a"b<c>`}, `"***" "***"`},
		"JSON in JSON":         {`"{\"p\":\"a\\\"b\"}"`, []string{`a"b`}, `"{\"p\":\"***\"}"`},
		"JSON in ASCII":        {`"gr\u00fcn \ud83d\ude00"`, []string{"grün 😀"}, `"***"`},
		"Go":                   {`"a\x00b\tc"`, []string{"a\x00b\tc"}, `"***"`},
		"Python":               {`'a\'b\nc'`, []string{"a'b\nc"}, `'***'`},
		"URL":                  {"http://u:a%2Fb%20c@h/?p=a%2Fb+c", []string{"a/b c"}, "http://u:***@h/?p=***"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mask.New(tt.secrets...).Mask(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMaskIf(t *testing.T) {
	m := mask.New("ansible", "it's")
	got := m.MaskIf(`ansible -p ansible 'it'"'"'s'`, func(secret string, at mask.Span) bool {
		return secret == "it's" || at.Start > 0
	})
	if want := "ansible -p *** ***"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestManyLines would take hours if the work grew with the square of the number of lines.
func TestManyLines(t *testing.T) {
	var secret strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&secret, "password-%d\n", i)
	}
	got := make(chan string, 1)
	go func() {
		m := mask.New(secret.String())
		got <- m.Mask(strings.Repeat("a password-word and password-77 \n", 1000))
	}()
	select {
	case text := <-got:
		if want := strings.Repeat("a password-word and *** \n", 1000); text != want {
			t.Errorf("got %.100q, want %.100q", text, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("not masked within a minute")
	}
}

func TestMaskIfShorter(t *testing.T) {
	m := mask.New("hunter", "hunter22")
	got := m.MaskIf("hunter22", func(secret string, _ mask.Span) bool { return secret == "hunter" })
	if want := "***22"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEndLineDropsHalfALine(t *testing.T) {
	var out strings.Builder
	w := mask.New("hunter2 is long").NewWriter(&out)
	_, _ = w.Write([]byte("one hunter2 is long\ntwo hunter2 is"))
	w.EndLine()
	if want := "one ***\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// FuzzPieces compares a stream that is written in pieces with a text that is masked as a whole.
func FuzzPieces(f *testing.F) {
	f.Add("a hunter2 b", "hunter2", "ter", 3)
	f.Add("it's 'it'\"'\"'s' \n", "it's", "'", 1)
	f.Add("aXbXcaXb", "aXb", "bXc", 2)
	f.Add("onetwo two oneone", "one", "two", 1)
	f.Add("line\nline two\n", "line\nline two", "two", 5)
	f.Fuzz(func(t *testing.T, text, one, two string, step int) {
		step = max(1, step&0xff)
		m := mask.New(one, two)
		text += one + two + text + "\n"
		var out strings.Builder
		w := m.NewWriter(&out)
		tail := mask.Tail{Masker: m, Most: 16}
		for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
			piece := []byte(rest[:min(step, len(rest))])
			_, _ = w.Write(piece)
			_, _ = tail.Write(piece)
		}
		w.EndLine()
		want := m.Mask(text)
		if got := out.String(); got != want {
			t.Errorf("in pieces of %d: %q, as a whole %q", step, got, want)
		}
		if got := strings.TrimPrefix(strings.TrimLeft(tail.String(), "\uFFFD"), mask.Text); !strings.HasSuffix(strings.ToValidUTF8(want, "\uFFFD"), got) {
			t.Errorf("the tail %q is no end of %q", got, want)
		}
	})
}
