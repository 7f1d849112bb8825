package linux

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// CheckRelease returns an error unless the system of the machine is one of these: ID and VERSION_ID of os-release(5),
// such as "debian 12".
func (m Machine) CheckRelease(ctx context.Context, known ...string) error {
	text, _, err := m.Read(ctx, "/etc/os-release")
	if err != nil {
		return err
	}
	release := osRelease(text)
	if got := release["ID"] + " " + release["VERSION_ID"]; !slices.Contains(known, got) {
		return fmt.Errorf("the system of %s is %q; the built-in preparation is made for %s: use an image with one of them",
			m.SSH.Name(), strings.TrimSpace(got), strings.Join(known, ", "))
	}
	return nil
}

// osRelease reads the assignments of an os-release file, whose values may be in quotes.
func osRelease(text []byte) map[string]string {
	out := map[string]string{}
	for line := range bytes.Lines(text) {
		key, value, found := strings.Cut(strings.TrimSpace(string(line)), "=")
		if !found || strings.HasPrefix(key, "#") {
			continue
		}
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		out[key] = value
	}
	return out
}
