package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicError is a panic of a driver or of a function of the composition. It is ErrProgramming.
type panicError struct {
	value  any
	stack  []byte
	logged bool
}

func (e *panicError) Error() string { return fmt.Sprintf("%v: panic: %v", ErrProgramming, e.value) }

func (e *panicError) Unwrap() error { return ErrProgramming }

// recovered calls fn and returns its error, or its panic as a *panicError. Goroutines that fn starts are not covered: only they
// themselves can recover.
func recovered(fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	return fn()
}

// logPanic logs the stack of a panic that err comes from, once, and returns err.
func logPanic(ctx context.Context, log *slog.Logger, err error) error {
	if e, ok := errors.AsType[*panicError](err); ok && log != nil && !e.logged {
		e.logged = true
		log.ErrorContext(ctx, "a driver or a function of the composition panicked", "panic", fmt.Sprint(e.value), "stack", string(e.stack))
	}
	return err
}

// observe calls an observer. Its panic is logged: the operation continues.
func observe(log *slog.Logger, observer func(Event), e Event) {
	err := recovered(func() error { observer(e); return nil })
	if p, ok := errors.AsType[*panicError](err); ok && log != nil {
		log.Error("an observer panicked", "panic", fmt.Sprint(p.value), "stack", string(p.stack))
	}
}
