package helmclient

import (
	"fmt"
	"strconv"
	"strings"
)

// programMinors are the oldest minor versions of the helm program that helmcli drives, by major version. 3.14 is the
// first with all arguments that helmcli uses (--reset-then-reuse-values), 4.2 the oldest that was tested.
var programMinors = map[int]int{3: 14, 4: 2}

// CheckProgram returns ErrInvalid unless package helmcli can drive a helm program of that version: 3.14 or later 3.x, 4.2 or
// later 4.x. version is what "helm version --template {{.Version}}" prints, such as v3.22.0, v3.22 or v4.3.1+g1234.
func CheckProgram(version string) error {
	_, err := ProgramMajor(version)
	return err
}

// ProgramMajor returns the major version, 3 or 4, of a helm program that CheckProgram accepts.
func ProgramMajor(version string) (int, error) {
	version = strings.TrimSpace(version)
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 || len(version) > 64 {
		return 0, fmt.Errorf("%w: helm's version cannot be read from %.64q", ErrInvalid, version)
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(strings.TrimRight(strings.SplitN(parts[1], "+", 2)[0], "-"))
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%w: helm's version cannot be read from %.64q", ErrInvalid, version)
	}
	if oldest, known := programMinors[major]; !known || minor < oldest {
		return 0, fmt.Errorf("%w: helm is %s: must be 3.%d or a later 3.x, or 4.%d or a later 4.x", ErrInvalid, version, programMinors[3], programMinors[4])
	}
	return major, nil
}
