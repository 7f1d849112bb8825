package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
)

var (
	errBusy  = errors.New("busy")
	errOther = errors.New("other")
	errLimit = errors.New("too long")
)

func TestDo(t *testing.T) {
	tests := map[string]struct {
		policy   retry.Policy
		attempts func(n int) error // of the nth attempt, from 1
		limit    time.Duration     // of the context
		want     []error           // all are wrapped
		text     string
		count    int // 0: any
	}{
		"success": {attempts: func(int) error { return nil }, count: 1},
		"success after a while": {attempts: func(n int) error {
			if n < 5 {
				return errBusy
			}
			return nil
		}, count: 5},
		"an error that does not pass": {policy: retry.Policy{If: func(err error) bool { return errors.Is(err, errBusy) }}, attempts: func(n int) error {
			if n < 3 {
				return errBusy
			}
			return errOther
		}, want: []error{errOther}, text: "other", count: 3},
		"the time is over": {policy: retry.Policy{Within: time.Minute}, attempts: func(int) error { return errBusy }, want: []error{errBusy}, text: "busy"},
		"the context ends": {attempts: func(int) error { return errBusy }, limit: time.Minute, want: []error{errLimit, errBusy}, text: "too long; last: busy"},
		"the first attempt has the cause": {attempts: func(int) error { return errLimit }, limit: time.Minute,
			want: []error{errLimit}, text: "too long"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, tt.limit, errLimit)
					defer cancel()
				}
				tt.policy.First, tt.policy.Most = time.Second, 10*time.Second
				count, began := 0, time.Now()
				err := tt.policy.Do(ctx, func() error { count++; return tt.attempts(count) })
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				}
				if (err == nil) != (tt.want == nil) || err != nil && err.Error() != tt.text {
					t.Errorf("got %v, want %q", err, tt.text)
				}
				if tt.count > 0 && count != tt.count {
					t.Errorf("%d attempts, want %d", count, tt.count)
				}
				if tt.policy.Within > 0 && time.Since(began) != tt.policy.Within {
					t.Errorf("the last attempt began after %v, want %v", time.Since(began), tt.policy.Within)
				}
			})
		})
	}
}

func TestAnAttemptThatWasCutGivesNoReason(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	count := 0
	err := retry.Policy{First: time.Millisecond, Most: time.Millisecond}.Do(ctx, func() error {
		if count++; count == 1 {
			return errBusy
		}
		cancel(errLimit)
		return errOther
	})
	if !errors.Is(err, errLimit) || !errors.Is(err, errBusy) || errors.Is(err, errOther) {
		t.Errorf("got %v", err)
	}
}

func TestTheContextEndsInAnAttemptThatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errLimit)
		defer cancel()
		count := 0
		err := retry.Policy{First: time.Second, Most: time.Second, Within: time.Minute}.Do(ctx, func() error {
			if count++; count == 1 {
				return errBusy
			}
			<-ctx.Done()
			return errOther
		})
		if !errors.Is(err, errLimit) || !errors.Is(err, errBusy) || errors.Is(err, errOther) {
			t.Errorf("got %v", err)
		}
	})
}
