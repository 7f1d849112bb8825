package telemetry

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// vimState is the result of the last login at a VIM.
type vimState string

const (
	vimReachable   vimState = "reachable"
	vimUnreachable vimState = "unreachable"
	vimRefused     vimState = "refused"   // the credentials
	vimFaulty      vimState = "faulty"    // another attribute of the entry
	vimUnchecked   vimState = "unchecked" // the driver cannot check it
)

var vimStates = []vimState{vimReachable, vimUnreachable, vimRefused, vimFaulty, vimUnchecked}

// vims are the VIMs that this process checks. The map is nil while another process does.
type vims struct {
	mu      sync.Mutex
	checked map[string]checkedVIM // by vimId
}

type checkedVIM struct {
	state vimState
	entry vnflcm.VimConnectionInfo
	at    time.Time
}

const (
	mostVIMChecks = 4 // at once
	// refusedAgain is the pause after a refused login with the same entry: some VIMs lock an account after many.
	refusedAgain = time.Hour
)

// CheckVIMs logs in at each VIM of the registry, at once and then after each pause of this length, until ctx ends. The results are the metric
// vnfkit.vim.count; the log has the VIM and the reason when a result changes. Of several processes on one store, one checks. A VIM that has
// refused the login is asked again after an hour, or when its entry has changed. ErrNotSupported: Config.VIMs is the program's own registry.
func (t *Telemetry) CheckVIMs(ctx context.Context, m *vnflcm.Manager, pause time.Duration) error {
	return m.Exclusively(ctx, "check-vims", func(ctx context.Context) error {
		defer t.metrics.vims.set(nil)
		for ctx.Err() == nil {
			if err := t.checkAll(ctx, m.VIMRegistry()); errors.Is(err, vnflcm.ErrNotSupported) {
				return err
			} else if err != nil && ctx.Err() == nil {
				t.log.WarnContext(ctx, "the VIMs cannot be checked now", "error", err)
			}
			_ = retry.Pause(ctx, pause)
		}
		return context.Cause(ctx)
	})
}

// checkAll checks each VIM once. VIMs that are no longer registered are not counted any more.
func (t *Telemetry) checkAll(ctx context.Context, registry vnflcm.VIMRegistry) error {
	list, err := registry.List(ctx, "")
	if list == nil {
		return err
	}
	was, now := t.metrics.vims.get(), map[string]checkedVIM{}
	var mu sync.Mutex
	_ = vnflcm.Each(ctx, mostVIMChecks, list, func(ctx context.Context, vim *vnflcm.VIM) error {
		if c := t.check(ctx, registry, vim, was[vim.VimID]); c.state != "" {
			mu.Lock()
			defer mu.Unlock()
			now[vim.VimID] = c
		}
		return nil
	})
	if ctx.Err() == nil {
		t.metrics.vims.set(now)
	}
	return err
}

// check checks a VIM, and logs a result that is another one than before. Without a result, such as that of a store that does not answer, the
// former one stays.
func (t *Telemetry) check(ctx context.Context, registry vnflcm.VIMRegistry, vim *vnflcm.VIM, was checkedVIM) checkedVIM {
	if was.state == vimRefused && time.Since(was.at) < refusedAgain && reflect.DeepEqual(was.entry, vim.VimConnectionInfo) {
		return was
	}
	err := registry.Check(ctx, "", vim.VimID)
	now := checkedVIM{stateOf(err), vim.VimConnectionInfo, time.Now()}
	switch {
	case now.state == "" || ctx.Err() != nil:
		return was
	case now.state == was.state, now.state == vimUnchecked:
	case now.state != vimReachable:
		t.log.WarnContext(ctx, "a login at a VIM has failed", "vim", vim.VimID, "tenant", vim.Tenant, "state", string(now.state), "error", err)
	case was.state != "":
		t.log.InfoContext(ctx, "the login at a VIM succeeds again", "vim", vim.VimID)
	}
	return now
}

// stateOf returns the state that a result of VIMRegistry.Check means, "" if it says nothing of the VIM.
func stateOf(err error) vimState {
	fault, is := errors.AsType[*vnflcm.ParamError](err)
	switch {
	case err == nil:
		return vimReachable
	case errors.Is(err, vnflcm.ErrNotSupported):
		return vimUnchecked
	case !is:
		return ""
	case fault.Path == "vimConnectionInfo.accessInfo":
		return vimRefused
	case strings.HasSuffix(fault.Path, "interfaceInfo.endpoint") && fault.Value == "":
		return vimUnreachable
	}
	return vimFaulty
}

func (v *vims) set(checked map[string]checkedVIM) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.checked = checked
}

func (v *vims) get() map[string]checkedVIM {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.checked)
}

// observe reports how many VIMs are in each state, if this process checks them.
func (v *vims) observe(o metric.Observer, to metric.Int64Observable) {
	checked := v.get()
	if checked == nil {
		return
	}
	counts := map[vimState]int64{}
	for _, vim := range checked {
		counts[vim.state]++
	}
	for _, state := range vimStates {
		o.ObserveInt64(to, counts[state], metric.WithAttributes(keyVIMState.String(string(state))))
	}
}
