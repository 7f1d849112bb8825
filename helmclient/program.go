package helmclient

import (
	"fmt"
	"strconv"
	"strings"
)

// Versions of the helm program that helmcli drives: 3.14 is the first that knows all of the arguments that are used
// (--reset-then-reuse-values), 4 has other ones.
const (
	programMajor    = 3
	programMinMinor = 14
)

// CheckProgram returns ErrInvalid unless package helmcli can drive a helm program of that version: 3.14 or later, of version 3. version
// is what "helm version --template {{.Version}}" prints, such as v3.22.0, v3.22 or v3.22.0+g1234.
func CheckProgram(version string) error {
	version = strings.TrimSpace(version)
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 || len(version) > 64 {
		return fmt.Errorf("%w: helm's version cannot be read from %.64q", ErrInvalid, version)
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(strings.TrimRight(strings.SplitN(parts[1], "+", 2)[0], "-"))
	switch {
	case err1 != nil || err2 != nil:
		return fmt.Errorf("%w: helm's version cannot be read from %.64q", ErrInvalid, version)
	case major != programMajor || minor < programMinMinor:
		return fmt.Errorf("%w: helm is %s: must be %d.%d or newer, and of version %d", ErrInvalid, version, programMajor, programMinMinor, programMajor)
	}
	return nil
}
