package objects

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// parallel is how many requests are under way at once.
const parallel = 8

// Client works on the objects of one cluster. It is safe for concurrent use.
type Client struct{ cluster *kubeaccess.Cluster }

// New returns a Client for a cluster that is reached. The cluster stays the caller's.
func New(c *kubeaccess.Cluster) *Client { return &Client{c} }

// of is where the objects of a kind are.
func (c *Client) of(k kubeaccess.Kind, namespace string) dynamic.ResourceInterface {
	return c.cluster.Objects(k, namespace)
}

// at is where an object is.
func (c *Client) at(ctx context.Context, r Ref) (dynamic.ResourceInterface, error) {
	k, err := c.cluster.Kind(ctx, r.gvk())
	if err != nil {
		return nil, err
	}
	return c.of(k, r.Namespace), nil
}

// Get returns an object, nil if it does not exist, if the object of that name is another one (Ref.UID), or if the API server
// has generated its name, which r does not have.
func (c *Client) Get(ctx context.Context, r Ref) (o *Object, err error) {
	if r.Name == "" {
		return nil, nil
	}
	at, err := c.at(ctx, r)
	if errors.Is(err, kubeaccess.ErrNoKind) {
		return nil, nil
	}
	if err == nil {
		err = c.cluster.Do(ctx, func(ctx context.Context) (err error) {
			o, err = at.Get(ctx, r.Name, metav1.GetOptions{})
			return err
		})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r, err)
	case r.UID != "" && o.GetUID() != r.UID:
		return nil, nil
	}
	return o, nil
}

const (
	pageSize = 500
	maxList  = 200_000 // more than a cluster has; a hostile one could send objects without end
)

var errEndless = errors.New("kubernetes: the cluster lists more objects than it can have")

// list returns the objects of a kind; none if the kind does not exist. Namespace "" means all.
func (c *Client) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) ([]Object, error) {
	k, err := c.cluster.Kind(ctx, gvk)
	if errors.Is(err, kubeaccess.ErrNoKind) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Object
	o.Limit = pageSize
	for {
		var next string
		err := c.cluster.Do(ctx, func(ctx context.Context) error {
			page, err := c.of(k, namespace).List(ctx, o)
			if err == nil {
				all, next = append(all, page.Items...), page.GetContinue()
			}
			return err
		})
		if apierrors.IsResourceExpired(err) && o.Continue != "" { // the list has become too old: from the beginning
			all, o.Continue = nil, ""
			continue
		}
		if err != nil || next == "" {
			return all, err
		}
		if o.Continue = next; len(all) > maxList {
			return nil, errEndless
		}
	}
}

// each calls do for all, some at once, and joins the errors.
func each[T any](ctx context.Context, all []T, do func(ctx context.Context, i int, item T) error) error {
	return fanout.Each(ctx, len(all), parallel, func(i int) error { return do(ctx, i, all[i]) })
}
