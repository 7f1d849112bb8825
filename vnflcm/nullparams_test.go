package vnflcm_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// paramsCloud records the additionalParams that it plans with.
type paramsCloud struct {
	*cloud
	mu   *sync.Mutex
	seen map[vnflcm.LcmOperation]string
}

func (c paramsCloud) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	c.mu.Lock()
	c.seen[op.Kind] = string(op.Params.Reveal())
	c.mu.Unlock()
	return c.cloud.Plan(ctx, op)
}

// TestNullParams: null is a value in the additionalParams of an instantiation, also for later operations, and removes an attribute in
// those of later ones.
func TestNullParams(t *testing.T) {
	t.Parallel()
	seen := map[vnflcm.LcmOperation]string{}
	x := newToys(t, func(cfg *vnflcm.Config) {
		toy, _ := cfg.Infra["toy"].(*cloud)
		cfg.Infra["toy"] = paramsCloud{toy, new(sync.Mutex), seen}
	})
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"values":{"gone":null,"a":1},"b":2}`)})
	x.wait(opID, err, vnflcm.Completed)
	opID, err = x.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "workers", AdditionalParams: params(t, `{"b":null}`)})
	x.wait(opID, err, vnflcm.Completed)
	want := map[vnflcm.LcmOperation]string{vnflcm.OpInstantiate: `{"values":{"gone":null,"a":1},"b":2}`, vnflcm.OpScale: `{"values":{"a":1,"gone":null}}`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}
