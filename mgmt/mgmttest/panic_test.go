package mgmttest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// recorder keeps the errors of a test instead of failing it.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// Fatalf implements testing.TB.
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

type panicking struct{}

func (panicking) Validate(context.Context, *vnflcm.Operation) error { panic("a fault of the driver") }

func (panicking) Hooks() vnflcm.Hooks {
	hook := func(context.Context, *vnflcm.Operation) error { return nil }
	return vnflcm.Hooks{vnflcm.InstantiateEnd: hook, vnflcm.HealEnd: hook}
}

// TestPanic: a panic of a driver fails the test, with the stack.
func TestPanic(t *testing.T) {
	t.Parallel()
	failed := &recorder{TB: t}
	l := mgmttest.Open(failed, mgmttest.Setup{Package: "../../examples/packages/private-registry", Drivers: func(*sshexec.Pool) map[string]vnflcm.MgmtDriver {
		return map[string]vnflcm.MgmtDriver{"mgmt-drivers-private-registry": panicking{}}
	}})
	id := l.Created()
	_, err := l.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json"))
	if err == nil || len(failed.errors) != 1 || !strings.Contains(failed.errors[0], "panicking.Validate") {
		t.Errorf("error %v, the test failed with %q", err, failed.errors)
	}
}
