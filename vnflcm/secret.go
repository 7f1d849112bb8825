package vnflcm

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// Mask is what every secret prints as.
const Mask = "***"

var errMasked = errors.New("this value was masked when it was written and cannot be read back")

// Secret is a string that prints as *** in every format, log and JSON document, and that refuses to be
// decoded from ***: a masked document that is mistaken for a real one fails where it is read. The zero
// Secret is empty.
//
// The text is held behind a pointer because package fmt looks past Format methods into the unexported
// fields of an enclosing struct; it finds an address there.
type Secret struct {
	clear *string
	shown bool // set only in the copies that RevealJSON makes
}

// NewSecret returns text as a Secret.
func NewSecret(text string) Secret { return Secret{clear: &text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.clear == nil {
		return ""
	}
	return *s.clear
}

// Equal compares the texts, in a time that does not depend on where they differ. Package go-cmp uses it.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// IsZero reports whether the secret is empty. It lets `omitzero` leave out absent secrets.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Format implements fmt.Formatter: *** for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, Mask) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Mask) }

// MarshalJSON implements json.Marshaler: "***".
func (s Secret) MarshalJSON() ([]byte, error) {
	if s.shown {
		return json.Marshal(s.Reveal())
	}
	return json.Marshal(Mask)
}

// UnmarshalJSON implements json.Unmarshaler. It takes a string other than ***.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return errors.New("must be a string")
	}
	if text == Mask {
		return errMasked
	}
	s.clear = &text
	return nil
}

func (s Secret) reveal() any { s.shown = true; return s }
