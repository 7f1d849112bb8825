package retry_test

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/vnfkit/vnfkit/internal/retry"
)

func TestClassOf(t *testing.T) {
	t.Parallel()
	errRefused := retry.NewError(retry.VIMCredentials, "refused")
	for name, c := range map[string]struct {
		err  error
		want retry.Class
	}{
		"no error":           {nil, ""},
		"unknown":            {errors.New("refused"), ""},
		"wrapped":            {fmt.Errorf("openstack: %w", errRefused), retry.VIMCredentials},
		"the first of two":   {errors.Join(errors.New("a"), errRefused, retry.NewError(retry.Lock, "b")), retry.VIMCredentials},
		"network":            {fmt.Errorf("get: %w", &net.OpError{Op: "dial", Err: errors.New("no route")}), retry.Unreachable},
		"quota of OpenStack": {fmt.Errorf("%w: Quota exceeded for instances: Requested 1, but already used 10 of 10", errRefused), retry.Quota},
		"quota of a cluster": {errors.New(`pods "web" is forbidden: exceeded quota: small, requested: pods=1`), retry.Quota},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := retry.ClassOf(c.err); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
