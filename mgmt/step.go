package mgmt

import (
	"context"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Do runs a step on the node (vnflcm.Do), for at most limit. The error then says so, and is a timeout in the sense of
// net.Error.
func (n Node) Do(ctx context.Context, op *vnflcm.Operation, name string, limit time.Duration, do func(context.Context) error) error {
	return vnflcm.Do(ctx, op, name, n.ID, func(ctx context.Context) error { return Within(ctx, limit, do) })
}

// Within runs do with a timeout whose cause names the limit.
func Within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeoutError(limit))
	defer cancel()
	return do(ctx)
}

// timeoutError is the cause of a step that took too long.
type timeoutError time.Duration

func (e timeoutError) Error() string { return "no success within " + time.Duration(e).String() }
func (e timeoutError) Timeout() bool { return true }
