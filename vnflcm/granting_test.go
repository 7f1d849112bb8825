package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// orchestrator is a Granter with given answers. The last answer is given to all later requests.
type orchestrator struct {
	mu      sync.Mutex
	answers []grantReply
	calls   []string // "ask" or "poll" and the seconds since the beginning
	began   time.Time
	request vnflcm.GrantRequest
}

type grantReply struct {
	answer vnflcm.GrantAnswer
	err    error
	whole  bool // a grant of everything
}

// The answers.
var (
	grantsAll = grantReply{whole: true}
	undecided = grantReply{answer: vnflcm.GrantAnswer{Location: "https://nfvo/grants/1"}}
	refuses   = grantReply{err: fmt.Errorf("%w: no quota", vnflcm.ErrGrantRejected)}
	isAway    = grantReply{err: &vnflcm.UnreachableError{Err: errors.New("refused")}}
	isBusy    = grantReply{err: &vnflcm.UnreachableError{Err: errors.New("status 503"), After: 5 * time.Second}}
	isLost    = grantReply{err: &vnflcm.UnreachableError{Err: errors.New("no answer"), Sent: true}}
)

func (o *orchestrator) reply(ctx context.Context, method string, request vnflcm.GrantRequest) (vnflcm.GrantAnswer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, fmt.Sprintf("%s at %.0f s", method, time.Since(o.began).Seconds()))
	next := o.answers[0]
	if len(o.answers) > 1 {
		o.answers = o.answers[1:]
	}
	if !next.whole {
		return next.answer, next.err
	}
	return vnflcm.GranterFunc(func(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) { return &vnflcm.Grant{ID: "g"}, nil }).Ask(ctx, request)
}

func (o *orchestrator) Ask(ctx context.Context, request vnflcm.GrantRequest) (vnflcm.GrantAnswer, error) {
	o.mu.Lock()
	if o.request.VnfLcmOpOccID != "" && !cmp.Equal(o.request, request) {
		o.calls = append(o.calls, "another request")
	}
	o.request = request
	o.mu.Unlock()
	return o.reply(ctx, "ask", request)
}

func (o *orchestrator) Poll(ctx context.Context, location string) (vnflcm.GrantAnswer, error) {
	if location != undecided.answer.Location {
		return vnflcm.GrantAnswer{}, errors.New("another location")
	}
	return o.reply(ctx, "poll", o.request)
}

// TestGranting waits for a grant under each policy.
func TestGranting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  vnflcm.GrantPolicy
		answers []grantReply
		want    vnflcm.OperationState
		calls   int           // 0: any number
		least   time.Duration // that the operation has waited
		most    time.Duration
		is      error
		text    string // in the error or the warning
	}{
		"granted later":                {vnflcm.GrantPolicy{}, []grantReply{undecided, undecided, undecided, grantsAll}, vnflcm.Completed, 4, 4 * time.Second, time.Minute, nil, ""},
		"rejected later":               {vnflcm.GrantPolicy{}, []grantReply{undecided, refuses}, vnflcm.RolledBack, 2, 0, time.Minute, vnflcm.ErrGrantRejected, "no quota"},
		"away for a while":             {vnflcm.GrantPolicy{}, []grantReply{isAway, isAway, isAway, isAway, grantsAll}, vnflcm.Completed, 5, 5 * time.Second, time.Minute, nil, ""},
		"as the NFVO asks":             {vnflcm.GrantPolicy{}, []grantReply{isBusy, isBusy, grantsAll}, vnflcm.Completed, 3, 10 * time.Second, 11 * time.Second, nil, ""},
		"away for long":                {vnflcm.GrantPolicy{}, []grantReply{isAway}, vnflcm.RolledBack, 0, time.Hour, 61 * time.Minute, vnflcm.ErrNoNFVO, "grant: no grant within 1h0m0s; last: refused"},
		"undecided for long":           {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableProceed}, []grantReply{undecided}, vnflcm.RolledBack, 0, time.Hour, 61 * time.Minute, nil, "the NFVO has not decided"},
		"a shorter limit":              {vnflcm.GrantPolicy{Within: time.Minute}, []grantReply{isAway}, vnflcm.RolledBack, 0, time.Minute, 2 * time.Minute, vnflcm.ErrNoNFVO, "within 1m0s"},
		"away, fail":                   {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableFail}, []grantReply{isAway}, vnflcm.RolledBack, 0, time.Minute, 2 * time.Minute, vnflcm.ErrNoNFVO, "refused"},
		"away, proceed":                {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableProceed}, []grantReply{isAway}, vnflcm.Completed, 0, time.Minute, 2 * time.Minute, nil, "without a grant of the NFVO: it was not awaited any longer: refused"},
		"away for a moment, proceed":   {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableProceed}, []grantReply{isAway, grantsAll}, vnflcm.Completed, 2, 0, time.Minute, nil, ""},
		"rejected, proceed":            {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableProceed}, []grantReply{isAway, refuses}, vnflcm.RolledBack, 2, 0, time.Minute, vnflcm.ErrGrantRejected, "no quota"},
		"away after the first answer":  {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableProceed}, []grantReply{undecided, isAway}, vnflcm.Completed, 0, time.Minute, 2 * time.Minute, nil, "without a grant"},
		"one answer is lost":           {vnflcm.GrantPolicy{}, []grantReply{isLost, grantsAll}, vnflcm.Completed, 2, 0, time.Minute, nil, ""},
		"each answer is lost":          {vnflcm.GrantPolicy{}, []grantReply{isLost}, vnflcm.RolledBack, 2, 0, time.Minute, vnflcm.ErrNoNFVO, "may have made grants whose ids are not known"},
		"each answer is lost, proceed": {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableProceed}, []grantReply{isLost}, vnflcm.Completed, 2, 0, time.Minute, nil, "without a grant"},
		"answers to polls are lost":    {vnflcm.GrantPolicy{}, []grantReply{undecided, isLost, isLost, isLost, grantsAll}, vnflcm.Completed, 5, 0, time.Minute, nil, ""},
		"the operation needs no grant": {vnflcm.GrantPolicy{Operations: []vnflcm.LcmOperation{vnflcm.OpHeal}}, []grantReply{refuses}, vnflcm.Completed, 0, 0, time.Second, nil, ""},
		"the operation needs one":      {vnflcm.GrantPolicy{Operations: []vnflcm.LcmOperation{vnflcm.OpInstantiate}}, []grantReply{refuses}, vnflcm.RolledBack, 1, 0, time.Second, vnflcm.ErrGrantRejected, ""},
		"another error":                {vnflcm.GrantPolicy{WhenUnreachable: vnflcm.UnreachableProceed}, []grantReply{{err: errCut}}, vnflcm.RolledBack, 1, 0, time.Second, errCut, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				o := &orchestrator{answers: c.answers, began: time.Now()}
				var passedOver []string
				x := newToys(t, func(cfg *vnflcm.Config) {
					cfg.Granter, cfg.Grants = o, c.policy
					cfg.Observe = func(e vnflcm.Event) {
						if e.Kind == vnflcm.GrantPassedOver {
							passedOver = append(passedOver, e.Message)
						}
					}
				})
				opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				must(t, err)
				_, _ = x.Wait(t.Context(), opID)
				occ, err := x.wait(opID, nil, c.want)
				waited := time.Since(o.began)
				closeManager(t, x.Manager)
				text := strings.Join(occ.Warnings, "\n")
				if err != nil {
					text = occ.Error.Detail
				}
				if c.is != nil {
					wantIs(t, err, c.is)
				}
				if !strings.Contains(text, c.text) || waited < c.least || waited > c.most || c.calls > 0 && len(o.calls) != c.calls {
					t.Errorf("after %v, %d calls %v: %q", waited, len(o.calls), o.calls, text)
				}
				if without := strings.Contains(text, "without a grant"); without != (len(passedOver) == 1) || without != (occ.GrantID == "" && c.want == vnflcm.Completed && len(c.policy.Operations) == 0) {
					t.Errorf("events %q, warnings %q", passedOver, occ.Warnings)
				}
				if c.want == vnflcm.RolledBack && len(x.world.state(occ.VnfInstanceID).Machines) > 0 {
					t.Error("machines were created without a grant")
				}
			})
		})
	}
}

// TestCancelWhileAGrantIsAwaited ends the operation without a change.
func TestCancelWhileAGrantIsAwaited(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]grantReply{"undecided": undecided, "away": isAway} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				x := newToys(t, func(cfg *vnflcm.Config) { cfg.Granter = &orchestrator{answers: []grantReply{answer}} })
				opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				must(t, err)
				time.Sleep(time.Minute)
				must(t, x.Cancel(t.Context(), opID, vnflcm.CancelGraceful))
				_, err = x.wait(opID, nil, vnflcm.RolledBack)
				wantIs(t, err, vnflcm.ErrCancelled)
				closeManager(t, x.Manager)
			})
		})
	}
}

// TestGrantByHand lets operations begin that wait for a grant, from another process too, and no other operation.
func TestGrantByHand(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]grantReply{"undecided": undecided, "away": isAway} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				o := &orchestrator{answers: []grantReply{answer}}
				x := newToys(t, func(cfg *vnflcm.Config) { cfg.Granter = o })
				cfg := x.cfg
				cfg.Granter, cfg.AcceptOnly = nil, true
				beside, err := vnflcm.New(t.Context(), cfg)
				must(t, err)
				opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				must(t, err)
				time.Sleep(5 * time.Minute)
				wantIs(t, beside.GrantByHand(t.Context(), opID, ""), vnflcm.ErrInvalidRequest)
				wantIs(t, beside.GrantByHand(t.Context(), "missing", "Ann"), vnflcm.ErrNotFound)
				must(t, beside.GrantByHand(t.Context(), opID, "Ann: the NFVO is being replaced"))
				occ, _ := x.wait(opID, nil, vnflcm.Completed)
				want := []string{"the operation begins without a grant of the NFVO: granted by hand: Ann: the NFVO is being replaced"}
				if diff := cmp.Diff(want, occ.Warnings); diff != "" {
					t.Error(diff)
				}
				wantIs(t, beside.GrantByHand(t.Context(), opID, "Ann"), vnflcm.ErrState)
				closeManager(t, beside)
				closeManager(t, x.Manager)
			})
		})
	}
}

// TestGrantOfANextProcess polls a grant whose location is journaled, and sends the same request again if it is not.
func TestGrantOfANextProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []grantReply
		want    string // the methods of the next process
	}{
		"located": {[]grantReply{undecided, undecided, grantsAll}, "poll"},
		"unknown": {[]grantReply{isAway, grantsAll}, "ask"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				o := &orchestrator{answers: c.answers, began: time.Now()}
				x := newToys(t, func(cfg *vnflcm.Config) { cfg.Granter = o })
				opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				must(t, err)
				time.Sleep(time.Second)
				x.start()
				x.wait(opID, nil, vnflcm.Completed)
				closeManager(t, x.Manager)
				if last := o.calls[len(o.calls)-1]; !strings.HasPrefix(last, c.want) || strings.Contains(strings.Join(o.calls, ","), "another") {
					t.Errorf("%v", o.calls)
				}
			})
		})
	}
}
