package mgmttest_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// hook is a driver with one hook.
type hook func(context.Context, *vnflcm.Operation) error

func (hook) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (h hook) Hooks() vnflcm.Hooks { return vnflcm.Hooks{vnflcm.InstantiateEnd: h, vnflcm.HealEnd: h} }

// failure returns the text with which Lab.Must fails the test of a driver.
func failure(t *testing.T, h hook) string {
	t.Helper()
	failed := &recorder{TB: t}
	l := mgmttest.Open(failed, mgmttest.Setup{Package: "../../examples/packages/private-registry", Drivers: func(*sshexec.Pool) map[string]vnflcm.MgmtDriver {
		return map[string]vnflcm.MgmtDriver{"mgmt-drivers-private-registry": h}
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Instantiated("instantiate_sandbox.json")
	}()
	<-ended
	if len(failed.errors) != 1 {
		t.Fatalf("the test failed with %q", failed.errors)
	}
	text := regexp.MustCompile(` +[0-9.]+(µs|ms|s)([ ,])`).ReplaceAllString(failed.errors[0], " 1s$2")
	return regexp.MustCompile(` on [^:]+:`).ReplaceAllString(text, " on VNFC:")
}

// TestStory: a failed operation shows its steps, and the warnings between them.
func TestStory(t *testing.T) {
	t.Parallel()
	got := failure(t, func(ctx context.Context, op *vnflcm.Operation) error {
		for _, name := range []string{"install", "configure"} {
			err := vnflcm.Do(ctx, op, name, op.VNFCs[0].ID, func(ctx context.Context) error {
				if name == "configure" {
					op.Log.WarnContext(ctx, "the disk is small", "free", "1 MiB")
					return vnflcm.ErrStore
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	const want = `operation: instantiate_end: configure on VNFC: vnflcm: the store has failed
-- INSTANTIATE STARTING
-- INSTANTIATE PROCESSING
   ok 1s  PrivateRegistryVDU-0 instantiate/create-vm
   ok 1s  PrivateRegistryVDU-0 instantiate_end/install
   WARN the disk is small free=1 MiB
   FAIL 1s  PrivateRegistryVDU-0 instantiate_end/configure  vnflcm: the store has failed
-- INSTANTIATE FAILED_TEMP after 1s, 3 steps
   instantiate_end: configure on VNFC: vnflcm: the store has failed
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestSwapped: a step whose name and VNFC are swapped fails, and the failure says so.
func TestSwapped(t *testing.T) {
	t.Parallel()
	got := failure(t, func(ctx context.Context, op *vnflcm.Operation) error {
		return vnflcm.Do(ctx, op, op.VNFCs[0].ID, "install", func(context.Context) error { return nil })
	})
	if !regexp.MustCompile(`a step was used against its rules: On is "install", which is neither .* name and On are swapped`).MatchString(got) {
		t.Errorf("the test failed with %s", got)
	}
}
