package cnftest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what happens to a request instead of its answer, or before it.
type Fault struct {
	// Method and Path say which requests: the method, and a part of the path, such as "/deployments". Empty ones fit all.
	Method, Path string
	// Times is how many requests it happens to. Default 1; below 0 all until Heal.
	Times int

	// Delay comes first.
	Delay time.Duration
	// After executes the request before its answer is lost or replaced.
	After bool
	// Code answers with that status, as a meta/v1 Status.
	Code int
	// Message is the message of the Status.
	Message string
	// Drop cuts the connection instead of an answer.
	Drop bool
}

type fault struct {
	Fault
	left int
}

// Fail has the next requests that fit the fault meet it. The first of several faults that fit counts.
func (c *Cluster) Fail(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := f.Times
	if left == 0 {
		left = 1
	}
	c.faults = append(c.faults, &fault{f, left})
}

// Heal ends all faults.
func (c *Cluster) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// Observe has fn called before each request is answered; nil ends it. The path comes with the query.
func (c *Cluster) Observe(fn func(method, path string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observe = fn
}

// next returns the fault for a request.
func (c *Cluster) next(r *http.Request) (Fault, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		if f.left != 0 && (f.Method == "" || f.Method == r.Method) && strings.Contains(r.URL.Path, f.Path) {
			f.left--
			return f.Fault, true
		}
	}
	return Fault{}, false
}

func (c *Cluster) serve(rw http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	if c.server == nil {
		c.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	c.requests.Add(1)
	observe := c.observe
	c.mu.Unlock()
	defer c.requests.Done()
	if observe != nil {
		observe(r.Method, r.URL.RequestURI())
	}
	if err := asJSON(r); err != nil {
		refuse(rw, Fault{Code: http.StatusBadRequest, Message: err.Error()})
		return
	}
	f, meets := c.next(r)
	if !meets {
		c.kube.ServeHTTP(rw, r)
		return
	}
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-r.Context().Done():
		case <-timer.C:
		}
	}
	if f.After {
		c.kube.ServeHTTP(&lost{}, r)
	}
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Code != 0:
		refuse(rw, f)
	case !f.After:
		c.kube.ServeHTTP(rw, r)
	}
}

// lost is an answer that is not sent.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header {
	if l.header == nil {
		l.header = http.Header{}
	}
	return l.header
}

func (l *lost) Write(b []byte) (int, error) { return len(b), nil }

func (l *lost) WriteHeader(int) {}

// refuse answers as an API server that is in trouble does.
func refuse(rw http.ResponseWriter, f Fault) {
	message := f.Message
	if message == "" {
		message = http.StatusText(f.Code)
	}
	reason := map[int]metav1.StatusReason{http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGatewayTimeout: metav1.StatusReasonTimeout}[f.Code]
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(f.Code)
	_ = json.NewEncoder(rw).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Message: message, Reason: reason, Code: int32(f.Code)}) //nolint:gosec // a status code
}
