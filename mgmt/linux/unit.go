package linux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Unit starts, restarts or reloads a unit, also one that has failed too often to be started again. A unit that
// systemd has not loaded has not failed either: resetting it is refused.
func (m Machine) Unit(ctx context.Context, verb, unit string) error {
	err := m.Run(ctx, "systemctl", "reset-failed", unit)
	if _, refused := errors.AsType[*sshexec.ExitError](err); err != nil && !refused {
		return err
	}
	return m.Run(ctx, "systemctl", verb, unit)
}

// ProxyDropIn is a drop-in that gives the service of a unit the variables of a proxy, in capitals
// (systemd.exec(5), Environment=). Only root may read it: URLs of proxies can hold a password.
func ProxyDropIn(env map[string]string) []byte {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`)
	var out strings.Builder
	out.WriteString("[Service]\n")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&out, "Environment=\"%s=%s\"\n", strings.ToUpper(name), escape.Replace(env[name]))
	}
	return []byte(out.String())
}
