package bounded_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/internal/bounded"
)

func TestRead(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		r    io.Reader
		want string
		err  error
	}{
		"empty":        {strings.NewReader(""), "", nil},
		"the limit":    {strings.NewReader("12345678"), "12345678", nil},
		"one more":     {strings.NewReader("123456789"), "", bounded.ErrTooLarge},
		"a fault":      {iotest.ErrReader(broken), "", broken},
		"byte by byte": {iotest.OneByteReader(strings.NewReader("12345678")), "12345678", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := bounded.Read(tt.r, 8)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %v", got, err)
			}
			if errors.Is(err, bounded.ErrTooLarge) && err.Error() != "is larger than 8 bytes" {
				t.Errorf("got %q", err)
			}
		})
	}
}

func TestText(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"short":        {"a text", "a text"},
		"the limit":    {strings.Repeat("x", 40), strings.Repeat("x", 40)},
		"lines":        {"the first fault is\nthe second fault is this", "the first fault is … and more"},
		"words":        {"the only fault is https://user:password@host", "the only fault is … and more"},
		"one word":     {strings.Repeat("x", 41), strings.Repeat("x", 27) + " … and more"},
		"a character":  {"x" + strings.Repeat("é", 30), "x" + strings.Repeat("é", 13) + " … and more"},
		"broken UTF-8": {"\xff" + strings.Repeat("x", 60), strings.Repeat("x", 26) + " … and more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := bounded.Text(tt.text, 40); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestError(t *testing.T) {
	fault := errors.New(strings.Repeat("a long fault ", 100))
	if err := bounded.Error(nil, 40); err != nil {
		t.Errorf("got %v", err)
	}
	if err := bounded.Error(io.EOF, 40); err != io.EOF { //nolint:errorlint // a short error is returned as it is
		t.Errorf("got %v", err)
	}
	if err := bounded.Error(fault, 40); !errors.Is(err, fault) || len(err.Error()) > 40 {
		t.Errorf("got %v", err)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a text\nin two lines, and more", 20)
	f.Add("é€\xff", 13)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = most&0xfff + 16
		got := bounded.Text(text, most)
		if len(got) > most {
			t.Errorf("%d bytes, at most %d", len(got), most)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q is no UTF-8", got)
		}
	})
}
