package keystone

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

const (
	maxKnown   = 10000 // answers for tokens of senders that are known
	maxInvalid = 1000  // answers for tokens that are not valid
	// invalidLasts is how long a token counts as not valid. It is short: a new token can be valid at one process of Keystone and
	// unknown to another one for a moment.
	invalidLasts = 10 * time.Second
)

// answers has the latest answers of Keystone. Tokens that are not valid are apart: a client that sends many of them does not push
// out those of other clients.
type answers struct {
	key            [32]byte // of the HMACs of tokens, by which the maps are ordered
	mu             sync.Mutex
	known, invalid map[hash]answer
	asked          map[hash]*question
}

type hash [sha256.Size]byte

// answer says what a token allows: a sender, or an error of New's function.
type answer struct {
	who   sol003.Principal
	err   error
	lasts time.Duration
	until time.Time
}

// question is a request to Keystone that has not ended.
type question struct {
	done   chan struct{}
	answer answer // when done is closed
}

func newAnswers() *answers {
	a := &answers{known: map[hash]answer{}, invalid: map[hash]answer{}, asked: map[hash]*question{}}
	_, _ = rand.Read(a.key[:]) // never fails
	return a
}

// of returns the answer for a token. It asks if there is no answer that lasts, and waits if another request asks for the same token.
func (a *answers) of(ctx context.Context, token string, ask func(context.Context, string) answer) (sol003.Principal, error) {
	key := a.hash(token)
	found, q, mine := a.find(key)
	switch {
	case mine:
		found.err = sol003.ErrUnavailable // if ask panics
		defer func() { a.keep(key, q, found) }()
		found = ask(ctx, token)
	case q != nil:
		select {
		case <-q.done:
			found = q.answer
		case <-ctx.Done():
			return sol003.Principal{}, fmt.Errorf("%w: %w", sol003.ErrUnavailable, context.Cause(ctx))
		}
	}
	return found.who, found.err
}

func (a *answers) hash(token string) (key hash) {
	mac := hmac.New(sha256.New, a.key[:])
	mac.Write([]byte(token))
	return hash(mac.Sum(nil))
}

// find returns an answer that lasts, or a question. The caller asks the question if it is its own.
func (a *answers) find(key hash) (found answer, q *question, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, answers := range []map[hash]answer{a.known, a.invalid} {
		if found, ok := answers[key]; ok && now.Before(found.until) {
			return found, nil, false
		}
	}
	if q := a.asked[key]; q != nil {
		return found, q, false
	}
	q = &question{done: make(chan struct{})}
	a.asked[key] = q
	return found, q, true
}

// keep ends a question. An answer that says nothing about the token is not kept.
func (a *answers) keep(key hash, q *question, given answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, key)
	q.answer = given
	close(q.done)
	switch now := time.Now(); {
	case errors.Is(given.err, sol003.ErrUnavailable):
	case errors.Is(given.err, errInvalid):
		given.until = now.Add(invalidLasts)
		put(a.invalid, maxInvalid, key, given)
	default:
		given.until = now.Add(given.lasts)
		put(a.known, maxKnown, key, given)
	}
}

// put adds an answer. If there are too many, it removes those that no longer last or, if all last, any one.
func put(to map[hash]answer, most int, key hash, given answer) {
	if len(to) >= most {
		now := time.Now()
		for each, old := range to {
			if !now.Before(old.until) {
				delete(to, each)
			}
		}
	}
	for each := range to {
		if len(to) < most {
			break
		}
		delete(to, each)
	}
	to[key] = given
}
