package sshexec

import (
	"context"
	"io"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// CommandLine returns the line that is sent for c, and the data sent before its standard input. It replaces random words by names.
func CommandLine(h *Host, c Command) (line, env string, err error) {
	inv, err := h.invocation(c)
	if err != nil {
		return "", "", err
	}
	line = strings.ReplaceAll(inv.line, inv.marker, "MARKER")
	if inv.prompt != "" {
		line = strings.ReplaceAll(line, inv.prompt, "PROMPT")
	}
	return line, inv.env, nil
}

// Frame is frame as quoted in command lines.
var Frame = shellescape.Quote(frame)

// Mask masks secrets in text.
func Mask(text string, secrets ...string) string { return mask.New(secrets...).Mask(text) }

// Tail returns the part of a command's output text that an error contains.
func Tail(text string, step int, secrets ...string) string {
	t := newTail(mask.New(secrets...))
	for len(text) > 0 {
		n := min(step, len(text))
		_, _ = t.Write([]byte(text[:n]))
		text = text[n:]
	}
	return t.String()
}

// SendOnly sends content by SFTP as Upload does, without comparing digests.
func SendOnly(ctx context.Context, h *Host, content io.Reader, name string) error {
	return h.withSFTP(ctx, false, func(s *sftpSession) error {
		return newOutgoing(content, 0, nil, h.meter(name, -1, nil), func(chunk) {}).send(ctx, s, name)
	})
}

// Names parses a list of names from a host, which it writes in pieces of step bytes.
func Names(told []byte, step int) (lists [3][]string, whole bool) {
	l := nameLists{limits: TreeLimits{}.withDefaults(), name: func(list int, name string) error {
		lists[list] = append(lists[list], name)
		return nil
	}}
	for len(told) > 0 {
		n := min(step, len(told))
		if _, err := l.Write(told[:n]); err != nil {
			return lists, false
		}
		told = told[n:]
	}
	return lists, l.at == listEnd
}

// DigestLine parses a line of sha256sum or openssl.
func DigestLine(line string) (digest, name string, ok bool) { return digestLine(line) }

// WithoutHost is withoutHost, for a fuzz target.
func WithoutHost(content []byte, host string) []byte { return withoutHost(content, host) }

// AnswerLimit is the time for which calls of a Pool wait for an answer of a host after the end of their context.
const AnswerLimit = answerLimit

// SetAnswerLimit sets another AnswerLimit for a pool.
func SetAnswerLimit(p *Pool, limit time.Duration) { p.answerLimit = limit }

// AwaitingConnection returns the number of callers that wait for connections that the pool is setting up.
func AwaitingConnection(p *Pool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		if l.attempt != nil {
			n += l.attempt.waiters
		}
	}
	return n
}

// ExpireIdle closes the unused connections of the pool, as if Options.Idle had passed.
func ExpireIdle(p *Pool) {
	var conns []*connection
	p.mu.Lock()
	for _, l := range p.links {
		if l.conn != nil {
			conns = append(conns, l.conn)
		}
	}
	p.mu.Unlock()
	for _, c := range conns {
		c.expire()
	}
}

// Begin passes the data of a stream to a gate in pieces of step bytes. It returns the output after the line with the marker.
func Begin(said, marker string, step int) (output, group string, begun bool) {
	var out strings.Builder
	g := newGate(invocation{marker: marker}, &out)
	for len(said) > 0 {
		n := min(step, len(said))
		_, _ = g.Write([]byte(said[:n]))
		said = said[n:]
	}
	return out.String(), g.group, g.hasBegun()
}
