package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// Options configure a Notifier.
type Options struct {
	// Allow is asked before each connection to a subscriber or a token endpoint, with the address that the name has. An error
	// refuses the connection. Default: outbound.RefuseLocal.
	Allow outbound.Policy
	// TLS configures the connections to subscribers and token endpoints: additional authorities, and the client
	// certificate for subscribers that request TLS_CERT.
	TLS *tls.Config
	// GiveUpAfter is the age of a notification after which it is not sent again. Default 24 h.
	GiveUpAfter time.Duration
	// GivenUp is called for each notification that is not sent again, because the subscriber refuses it or it is too old. It must not
	// block. Default: none.
	GivenUp func(subscriptionID string, err error)
	// Logger receives notifications that are given up and subscribers that cannot be reached. It never gets a URI.
	Logger *slog.Logger
}

// Notifier keeps subscriptions in the store of a Manager and sends their notifications. It is safe for concurrent use.
type Notifier struct {
	Options
	manager       *vnflcm.Manager
	subscriptions *vnflcm.Documents
	places        *vnflcm.Documents
	client        *http.Client
	changed       chan struct{} // has an item after the subscriptions have changed in this process
	unreadable    atomic.Bool   // a subscription that cannot be read has been logged
	delayed       delays
}

var _ sol003.Subscriptions = (*Notifier)(nil)

// New returns a Notifier of a Manager. It starts no goroutine: Run sends.
func New(m *vnflcm.Manager, o Options) *Notifier {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.GiveUpAfter = cmp.Or(max(o.GiveUpAfter, 0), 24*time.Hour)
	return &Notifier{Options: o, manager: m, subscriptions: m.Documents("subscription"), places: m.Documents("subscription-place"),
		client: newClient(o), changed: make(chan struct{}, 1)}
}

func (n *Notifier) hasCertificate() bool {
	return n.TLS != nil && (len(n.TLS.Certificates) > 0 || n.TLS.GetClientCertificate != nil)
}

func (n *Notifier) wake() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// Run sends notifications until ctx ends or the Manager is closed. Of several processes on one store, the first one
// sends; each other process waits until it ends.
func (n *Notifier) Run(ctx context.Context) error {
	defer n.client.CloseIdleConnections()
	return n.manager.Exclusively(ctx, "notifications", n.sendAll)
}

// refreshEvery is how often the sending process looks for subscriptions that other processes have made or removed.
const refreshEvery = time.Second

// sendAll runs a sender for each subscription.
func (n *Notifier) sendAll(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	senders := map[string]context.CancelFunc{}
	for {
		list, err := n.all(ctx)
		if err == nil {
			n.adjust(ctx, &wg, senders, list)
		} else if ctx.Err() == nil {
			n.Logger.WarnContext(ctx, "the subscriptions cannot be read now", "error", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-n.changed:
		case <-time.After(refreshEvery):
		}
	}
}

// adjust starts the senders that are missing, and stops those whose subscription has been removed.
func (n *Notifier) adjust(ctx context.Context, wg *sync.WaitGroup, senders map[string]context.CancelFunc, list []*subscription) {
	gone := map[string]bool{}
	for id := range senders {
		gone[id] = true
	}
	for _, s := range list {
		delete(gone, s.ID)
		if senders[s.ID] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		senders[s.ID] = stop
		wg.Go(func() { n.newSender(s).run(ctx) })
	}
	for id := range gone {
		senders[id]()
		delete(senders, id)
	}
}
