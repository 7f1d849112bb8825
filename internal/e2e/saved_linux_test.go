package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
)

// TestMachinesAreSaved saves a machine and starts it again from the saved files, twice: what the first start writes is not in the
// second.
func TestMachinesAreSaved(t *testing.T) {
	t.Parallel()
	y := newYard(t, nil)
	const instance, id = "saved", "0b8e7f0c-2f0e-4c0e-8a6e-7c1f7f3d2b11"
	places := []string{"/etc/written", "/var/lib/etcd/written", "/var/lib/containerd/written", "/var/lib/kubelet/written", "/run/written"}
	dir := site.network.Dir() + "/saved"
	must(t, y.machines.Create(t.Context(), vminfra.Machine{ID: id, Instance: instance, Name: "saved"}))

	type state struct{ Address, Key, Boot, Written string }
	now := func() (s state) {
		host := y.login(id)
		must(t, host.Wait(within(t, time.Minute)))
		key, err := y.machines.Host(id).HostKey()
		must(t, err)
		s = state{Address: y.machines.Host(id).Address.String(), Key: key, Boot: output(t, host, "cat /proc/sys/kernel/random/boot_id")}
		for _, place := range places {
			out, _ := asRoot(host, "cat", place) // none in /run after the start
			s.Written += out
		}
		return s
	}
	write := func(text string) {
		for _, place := range places {
			_, err := asRoot(y.login(id), "sh", "-c", fmt.Sprintf("echo %s >%s", text, place))
			must(t, err)
		}
	}
	now()
	write("first")
	want := now()
	must(t, y.machines.Save(t.Context(), dir, instance))
	if left, err := y.machines.Machines(t.Context(), instance); err != nil || len(left) != 0 {
		t.Fatalf("machines are left: %v, %v", left, err)
	}
	want.Written = "first\nfirst\nfirst\nfirst\n"
	for range 2 {
		must(t, y.machines.Restore(t.Context(), dir))
		got := now()
		if got.Boot == want.Boot {
			t.Error("the boot id is that before")
		}
		got.Boot = want.Boot
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		write("second")
		must(t, y.machines.Delete(t.Context(), id))
	}
}
