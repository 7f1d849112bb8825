package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
)

// VIMChecker is an InfraDriver that checks the connection of a VIM that a client registers or changes.
type VIMChecker interface {
	// CheckVIM logs in and changes nothing. It connects as for an operation on vim. Faults are *ParamError with the attribute:
	// vimConnectionInfo.interfaceInfo.endpoint if the VIM does not answer, vimConnectionInfo.accessInfo if it refuses the login.
	CheckVIM(ctx context.Context, vim VimConnectionInfo) error
}

// checkLimit is how long a check may take. Clients wait for the answer.
const checkLimit = 30 * time.Second

// How many checks run at once in this process. A check holds a connection and the memory of a client for up to checkLimit.
const (
	maxChecks      = 16
	maxOwnerChecks = 8 // of the VIMs of one owner: the other owners can register VIMs meanwhile
)

// runningChecks counts the checks that run, by the owners of the VIMs.
type runningChecks struct {
	mu      sync.Mutex
	byOwner map[string]int
	all     int
}

// begin counts a check until end is called. ErrBusy: as many checks run as may.
func (c *runningChecks) begin(owner string) (end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= maxChecks || c.byOwner[owner] >= maxOwnerChecks {
		return nil, fmt.Errorf("%w: the logins of many VIMs are checked at the moment", ErrBusy)
	}
	if c.byOwner == nil {
		c.byOwner = map[string]int{}
	}
	c.all++
	c.byOwner[owner]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.byOwner[owner]--; c.byOwner[owner] == 0 {
			delete(c.byOwner, owner)
		}
	}, nil
}

// Check logs in at the VIM of an entry that a tenant may use, and changes nothing. *ParamError for each fault, as VIMChecker says.
// ErrNotSupported: no driver of the type can check it. ErrNotFound: the tenant sees no entry with this id. ErrBusy: many VIMs are checked at the
// moment.
func (r VIMRegistry) Check(ctx context.Context, tenant, vimID string) error {
	vim, err := r.Get(ctx, tenant, vimID)
	if err != nil {
		return err
	}
	if _, able := r.m.cfg.infra(vim.VimType).(VIMChecker); !able {
		return fmt.Errorf("%w: no driver checks VIMs of type %s", ErrNotSupported, vim.VimType)
	}
	return r.check(ctx, vim.VimConnectionInfo, false)
}

const checkedEndpoint = "vimConnectionInfo.interfaceInfo.endpoint"

var errCheckOverdue = fmt.Errorf("no answer within %v", checkLimit)

// check refuses a type without driver and, unless unchecked, a connection that the driver finds faults in. Texts are masked and bounded.
// ErrBusy: many checks run.
func (r VIMRegistry) check(ctx context.Context, info VimConnectionInfo, unchecked bool) error {
	driver := r.m.cfg.infra(info.VimType)
	if driver == nil {
		return &ParamError{Path: "vimType", Value: info.VimType, Reason: fmt.Sprintf("there is no driver for it, only for %q", sortedKeys(r.m.cfg.Infra))}
	}
	checker, able := driver.(VIMChecker)
	if !able || unchecked {
		return nil
	}
	end, err := r.m.checks.begin(info.Tenant)
	if err != nil {
		return err
	}
	defer end()
	limited, done := context.WithTimeoutCause(ctx, checkLimit, errCheckOverdue)
	defer done()
	err = logPanic(ctx, r.m.cfg.Logger, recovered(func() error { return checker.CheckVIM(limited, info) }))
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = &ParamError{Path: checkedEndpoint, Reason: errCheckOverdue.Error()}
	}
	if err == nil || errors.Is(err, ErrProgramming) {
		return err
	}
	mask := newMasker(info.secrets())
	if !errors.Is(err, ErrInvalidRequest) {
		return &ParamError{Path: checkedEndpoint, Reason: mask.applyTo(err)}
	}
	return eachFault(err, func(fault *ParamError) {
		fault.Value, fault.Reason = mask.apply(fault.Value), bounded.Text(mask.apply(fault.Reason), maxText)
	})
}

// secrets are the values of the connection that texts must not quote.
func (v VimConnectionInfo) secrets() (found []string) {
	for _, params := range []Params{v.InterfaceInfo, v.AccessInfo, v.Extra} {
		found = append(found, params.secrets(nil, nil)...)
	}
	return found
}
