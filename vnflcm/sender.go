package vnflcm

import "context"

type senderKey struct{}

// WithSender returns a context for calls of a Manager that begin operations. name says who has sent the request, such as the name of an account. It
// is stored with the operation.
func WithSender(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, senderKey{}, name)
}

func senderIn(ctx context.Context) string {
	name, _ := ctx.Value(senderKey{}).(string)
	return name
}

// Sender says who has sent the request that began the operation (WithSender), "" if that is not known. A driver names the sender where a
// request passes a check over.
func (op *Operation) Sender() string { return op.sender }
