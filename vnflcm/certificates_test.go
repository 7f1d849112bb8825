package vnflcm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// reader is a driver that reads two certificates and fails to read the rest.
type reader struct {
	vnflcm.MgmtDriver
	list []vnflcm.Certificate
	err  error
}

func (r reader) Certificates(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	if err := op.State().Put(ctx, "key", "value"); err == nil {
		return nil, errors.New("the state was written")
	}
	return r.list, r.err
}

// TestCertificates checks that the certificates that a driver reads are returned together with the error of the driver, in which
// secrets are masked.
func TestCertificates(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	created, id := x.create(), x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"canary-secret"}`)})
	x.wait(opID, err, vnflcm.Completed)
	_, err = x.Certificates(t.Context(), created)
	wantIs(t, err, vnflcm.ErrState)
	_, err = x.Certificates(t.Context(), id)
	wantIs(t, err, vnflcm.ErrNotSupported)
	want := []vnflcm.Certificate{{On: "master-0", Machine: "master0", Name: "a"}, {On: "worker-0", Machine: "worker0", Name: "b"}}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": reader{x.cfg.Mgmt["cluster"], want, errors.Join(errCut, errors.New("canary-secret"))}}
	x.start()
	before := x.records()
	got, err := x.Certificates(t.Context(), id)
	wantIs(t, err, errCut)
	if diff := cmp.Diff(want, got); diff != "" || strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v:\n%s", err, diff)
	}
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("reading wrote:\n%s", diff)
	}
}

// deafReader is a driver that reads certificates until free is closed, and ignores its context.
type deafReader struct {
	*issuing
	reads chan struct{}
	free  chan struct{}
}

func (d *deafReader) Certificates(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	select {
	case d.reads <- struct{}{}:
	default:
	}
	<-d.free
	return d.issuing.Certificates(ctx, op)
}

// TestCloseEndsWithItsContext checks that the end of its context ends Close, even if a driver ignores its context.
func TestCloseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		d := &deafReader{newIssuing(300 * aDay), make(chan struct{}, 1), make(chan struct{})}
		x := newToys(t, func(c *vnflcm.Config) { c.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": d} })
		x.instantiated("plain")
		<-d.reads
		cause := errors.New("the caller waits no longer")
		ctx, end := context.WithCancelCause(t.Context())
		closed := make(chan error, 1)
		go func() { closed <- x.Close(ctx) }()
		synctest.Wait()
		select {
		case err := <-closed:
			t.Errorf("Close returns before the driver: %v", err)
		default:
		}
		end(cause)
		synctest.Wait()
		select {
		case err := <-closed:
			wantIs(t, err, cause)
		default:
			t.Error("Close waits after the end of its context")
		}
		close(d.free)
	})
}
