// Package bounded reads what peers and packages give, and quotes it, within a limit.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrTooLarge is the error of Read beyond its limit. Its text continues with the limit.
var ErrTooLarge = errors.New("is larger")

// Read reads r to its end. It returns ErrTooLarge, and no text, if r has more than most bytes.
func Read(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%w than %d bytes", ErrTooLarge, most)
	}
	return text, err
}

// ellipsis marks the end of a text that was cut.
const ellipsis = " … and more"

// Text returns text with at most most bytes. It cuts a longer text at the end of a line or, if the last line is long, of a
// word: half a URL would not be recognized as one with a password by a reader that masks the text later. It never cuts a
// character.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[:max(0, most-len(ellipsis))], "")
	end := strings.LastIndexByte(text, '\n')
	if end < len(text)/2 {
		end = strings.LastIndexAny(text, " \t\n")
	}
	if end < len(text)/2 { // one long word
		end = len(text)
	}
	return text[:end] + ellipsis
}

// Error returns err with at most most bytes of its text; errors.Is and errors.As find what err wraps.
func Error(err error, most int) error {
	if err == nil || len(err.Error()) <= most {
		return err
	}
	return &shortened{err, Text(err.Error(), most)}
}

type shortened struct {
	err  error
	text string
}

func (e *shortened) Error() string { return e.text }
func (e *shortened) Unwrap() error { return e.err }
