package helmclient

import "fmt"

// Password prints as *** everywhere and has no JSON but that. Helm is given it by a file or by standard input, never on
// a command line.
type Password struct{ value *string } // a pointer: fmt looks past methods into fields, but not through pointers

// NewPassword keeps a password.
func NewPassword(text string) Password { return Password{&text} }

// Reveal returns the password itself, for whoever hands it to a server.
func (p Password) Reveal() string {
	if p.value == nil {
		return ""
	}
	return *p.value
}

// IsZero reports that there is no password.
func (p Password) IsZero() bool { return p.Reveal() == "" }

// Format implements fmt.Formatter.
func (p Password) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.masked())) }

// MarshalText implements encoding.TextMarshaler.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.masked()), nil }

func (p Password) masked() string {
	if p.IsZero() {
		return ""
	}
	return "***"
}
