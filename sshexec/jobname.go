package sshexec

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// jobNameBytes bounds the encoded name of a job: file names have at most 255 bytes, and some have a prefix.
const jobNameBytes = 200

// encodeJobName returns the name of the job's directory. Letters, digits, "_", "-" and dots are kept, except for a
// leading dot, because this package uses such hidden names; every other byte becomes %XX. So keys such as
// "instance/phase/step" are valid names, and no two names share a directory.
func encodeJobName(name string) (string, error) {
	var encoded strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			encoded.WriteByte(c)
		default:
			fmt.Fprintf(&encoded, "%%%02X", c)
		}
	}
	switch {
	case name == "":
		return "", errors.New("a job needs a name")
	case encoded.Len() > jobNameBytes:
		return "", fmt.Errorf("the name is too long: %d bytes of at most %d, three for each that is no letter, digit, \"_\", \"-\" or \".\"", encoded.Len(), jobNameBytes)
	}
	return encoded.String(), nil
}

// decodeJobName is the inverse of encodeJobName. It returns false for a text that encodeJobName does not return.
func decodeJobName(encoded string) (string, bool) {
	name, err := url.PathUnescape(encoded)
	if err != nil {
		return "", false
	}
	encodedName, err := encodeJobName(name)
	return name, err == nil && encodedName == encoded
}
