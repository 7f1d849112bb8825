package helmclient

import (
	"fmt"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// Password is a secret that prints and marshals as ***. Clients pass it to Helm in a file or on standard input, never
// on a command line.
type Password struct{ value *string } // a pointer: fmt looks past methods into fields, but not through pointers

// NewPassword returns a Password with this text.
func NewPassword(text string) Password { return Password{&text} }

// Reveal returns the text of the password, to pass it to a server.
func (p Password) Reveal() string {
	if p.value == nil {
		return ""
	}
	return *p.value
}

// IsZero reports whether there is no password.
func (p Password) IsZero() bool { return p.Reveal() == "" }

// Format implements fmt.Formatter.
func (p Password) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.masked())) }

// MarshalText implements encoding.TextMarshaler.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.masked()), nil }

func (p Password) masked() string {
	if p.IsZero() {
		return ""
	}
	return mask.Text
}
