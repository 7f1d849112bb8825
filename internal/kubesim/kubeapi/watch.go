package kubeapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// change is what happened to an object at a revision.
type change struct {
	revision    int
	key         string
	now, before jsonObject // now is nil when it was deleted; then before has the revision of that
}

// history is what watches are answered from. It is not kept when the world is saved: after that they must list again.
type history struct {
	changes []change
	before  int           // the revision that it begins after
	told    chan struct{} // closed at the next change
	decoded map[string]Object
	events  map[string]bool       // that were recorded, by object, reason and message
	nodes   map[string]int        // revisions of nodes
	seen    map[string]jsonObject // nodes at these
}

const historyLength = 5000

// put keeps an object; raw must have the cluster's revision.
func (c *Cluster) put(key string, raw jsonObject) {
	c.record(change{c.Revision, key, raw, c.Objects[key]})
	c.Objects[key] = raw
}

// drop deletes an object.
func (c *Cluster) drop(key string) {
	raw, there := c.Objects[key]
	if !there {
		return
	}
	c.Revision++
	var o Object
	if json.Unmarshal(raw, &o) == nil {
		inner(o, "metadata")["resourceVersion"] = strconv.Itoa(c.Revision)
		raw, _ = json.Marshal(o)
	}
	c.record(change{c.Revision, key, nil, raw})
	delete(c.Objects, key)
}

func (c *Cluster) record(ch change) {
	h := &c.history
	delete(h.decoded, ch.key)
	h.changes = append(h.changes, ch)
	if len(h.changes) > historyLength {
		h.before = h.changes[0].revision
		h.changes = h.changes[1:]
	}
	if h.told != nil {
		close(h.told)
		h.told = nil
	}
}

// next is closed when something changes.
func (c *Cluster) next() <-chan struct{} {
	if c.history.told == nil {
		c.history.told = make(chan struct{})
	}
	return c.history.told
}

// watch is a request for changes.
type watch struct {
	q         *request
	matches   func(Object) bool
	from      int   // revision
	initial   []any // sent first
	marked    bool  // a bookmark follows the initial objects
	bookmarks bool
	ends      time.Time
}

// startWatch is called under the lock.
func (q *request) startWatch() (any, error) {
	query := q.http.URL.Query()
	matches, err := q.selector()
	if err := errors.Join(q.checkStream(), err); err != nil {
		return nil, err
	}
	w := &watch{q: q, matches: matches, from: q.c.Revision, bookmarks: query.Get("allowWatchBookmarks") == "true", ends: time.Now().Add(time.Hour)}
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		w.ends = time.Now().Add(time.Duration(seconds) * time.Second)
	}
	if q.path.name != "" { // the form of old clients
		name := q.path.name
		w.matches = func(o Object) bool { return Text(o, "metadata", "name") == name && matches(o) }
	}
	since := query.Get("resourceVersion")
	w.marked = query.Get("sendInitialEvents") == "true"
	if since != "" && since != "0" && !w.marked {
		if w.from, err = strconv.Atoi(since); err != nil {
			return nil, apiFault(http.StatusBadRequest, "BadRequest", "Invalid resource version %q", since)
		}
		return w, nil
	}
	if query.Get("sendInitialEvents") == "false" {
		return w, nil
	}
	w.initial, err = q.items(w.matches)
	return w, err
}

// stream sends changes until the client disconnects, the time is over or the server stops.
func (w *watch) stream(rw http.ResponseWriter, alive func() bool) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusOK)
	flusher, _ := rw.(http.Flusher)
	encoder := json.NewEncoder(rw)
	send := func(kind string, o any) { _ = encoder.Encode(Object{"type": kind, "object": o}) }
	for _, o := range w.initial {
		send("ADDED", o)
	}
	if w.marked {
		send("BOOKMARK", w.bookmark(Object{"k8s.io/initial-events-end": "true"}))
	}
	c := w.q.c
	for {
		var gone, old bool
		var err error
		var events []watchEvent
		var next <-chan struct{}
		var wake time.Duration
		c.Host.Locked(func() {
			if gone = !alive(); gone {
				return
			}
			err = c.RunControllers()
			old = w.from < c.history.before || w.from > c.Revision
			events = w.events()
			next, wake = c.next(), time.Until(c.due)
			if c.due.IsZero() || wake > time.Second {
				wake = time.Second // to notice that the server has stopped
			}
		})
		if gone {
			return
		}
		if old || err != nil {
			_, body := status(apiFault(http.StatusGone, "Expired", "too old resource version: %d (%d)", w.from, c.history.before))
			if err != nil {
				_, body = status(err)
			}
			send("ERROR", jsonObject(body))
			return
		}
		for _, e := range events {
			send(e.kind, e.object)
		}
		if flusher != nil {
			flusher.Flush()
		}
		if !w.wait(next, wake) {
			if w.bookmarks && w.q.http.Context().Err() == nil {
				send("BOOKMARK", w.bookmark(Object{}))
			}
			return
		}
	}
}

// wait reports false when the watch is over.
func (w *watch) wait(next <-chan struct{}, wake time.Duration) bool {
	left := time.Until(w.ends)
	timer := time.NewTimer(max(min(left, wake), time.Millisecond))
	defer timer.Stop()
	select {
	case <-w.q.http.Context().Done():
		return false
	case <-next:
		return true
	case <-timer.C:
		return left > wake
	}
}

func (w *watch) bookmark(annotations Object) Object {
	k := w.q.path.kind
	return Object{"kind": k.Kind, "apiVersion": k.apiVersion(), "metadata": Object{"resourceVersion": strconv.Itoa(w.from), "creationTimestamp": nil, "annotations": annotations}}
}

type watchEvent struct {
	kind   string
	object Object
}

// events are those since the last call, as the selectors see them.
func (w *watch) events() (out []watchEvent) {
	c := w.q.c
	prefix := w.q.path.kind.prefix()
	if w.q.path.namespace != "" {
		prefix += w.q.path.namespace + "/"
	}
	for _, ch := range c.history.changes {
		if ch.revision <= w.from || !strings.HasPrefix(ch.key, prefix) {
			continue
		}
		var now, before Object
		_ = json.Unmarshal(ch.now, &now)
		_ = json.Unmarshal(ch.before, &before)
		is, was := now != nil && w.matches(now), before != nil && w.matches(before)
		version := w.q.path.kind.apiVersion()
		switch {
		case is && !was:
			now["apiVersion"] = version
			out = append(out, watchEvent{"ADDED", now})
		case is:
			now["apiVersion"] = version
			out = append(out, watchEvent{"MODIFIED", now})
		case was:
			before["apiVersion"] = version
			inner(before, "metadata")["resourceVersion"] = strconv.Itoa(ch.revision)
			out = append(out, watchEvent{"DELETED", before})
		}
	}
	w.from = max(w.from, c.Revision)
	return out
}
