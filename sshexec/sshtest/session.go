package sshtest

import (
	"context"
	"os"
	"sync"

	"golang.org/x/crypto/ssh"
)

// session serves one session channel: one command, or SFTP.
func (c *client) session(request ssh.NewChannel) {
	if !c.host.faults.await(c.ctx, func(f Faults) bool { return f.StallSessions }) {
		return
	}
	channel, requests, err := request.Accept()
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	s := &session{client: c, channel: channel, ctx: ctx, cancel: cancel, killed: make(chan struct{})}
	for r := range requests {
		if !s.awaitAnswer(r, requests) {
			return
		}
		ok := s.request(r)
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
		if ok && s.start != nil {
			c.host.running.Go(s.start)
			s.start = nil
		}
	}
}

type session struct {
	client  *client
	channel ssh.Channel
	ctx     context.Context
	cancel  context.CancelFunc
	started bool
	start   func()        // runs once the request has been answered
	leader  *task         // the first process of the session, nil until it starts
	killed  chan struct{} // closed when the leader gets KILL
}

// awaitAnswer delays the answer to a request that starts a program while StallCommands is set. It refuses other requests
// meanwhile. It returns false if the session ends first.
func (s *session) awaitAnswer(r *ssh.Request, others <-chan *ssh.Request) bool {
	if r.Type != "exec" && r.Type != "subsystem" {
		return true
	}
	for {
		now, _, changed := s.client.host.faults.get()
		if !now.StallCommands {
			return true
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return false
		case other, ok := <-others:
			if !ok {
				return false
			}
			if other.WantReply {
				_ = other.Reply(false, nil)
			}
		}
	}
}

func (s *session) request(r *ssh.Request) bool {
	var text struct{ Value string }
	switch r.Type {
	case "exec", "subsystem":
		if s.started || ssh.Unmarshal(r.Payload, &text) != nil {
			return false
		}
		if r.Type == "subsystem" {
			if text.Value != "sftp" || s.client.host.faults.current().NoSFTP {
				return false
			}
			if !s.client.host.hasStartupFile() {
				s.start = s.sftp
			} else if !s.command(sftpServerPath) { // sshd starts sftp-server through the login shell
				return false
			}
		} else if !s.command(text.Value) {
			return false
		}
		s.started = true
		return true
	case "signal":
		if ssh.Unmarshal(r.Payload, &text) != nil {
			return false
		}
		return s.signal(text.Value)
	default: // pty-req, env, shell, ...: a strict sshd refuses them too
		return false
	}
}

// signal sends a signal to the process group of the command, as sshd does.
func (s *session) signal(name string) bool {
	signal, err := signalName(name)
	if err != nil || s.leader == nil {
		return false
	}
	for _, t := range s.client.host.processes.find(-s.leader.pid) {
		t.signal(signal)
	}
	return true
}

// exec runs a command line as the login shell of the user.
func (s *session) exec(p *Process, in, feed *os.File) {
	defer func() { _ = s.channel.Close() }()
	defer func() { _ = in.Close() }()
	// Closing the input makes a killed program return from reading.
	stop := context.AfterFunc(p.task.ctx, func() { _ = in.Close() })
	defer stop()
	h := s.client.host
	h.running.Go(func() {
		_, _ = copyAll(feed, s.channel)
		_ = feed.Close()
	})
	done := make(chan int, 1)
	h.running.Go(func() {
		ctx, stop := p.task.context(s.ctx)
		defer stop()
		line := p.Args[2]
		if h.hasStartupFile() {
			line = ". " + h.startupFile() + "\n" + line
		}
		done <- p.script(ctx, nil, "sh", nil, line)
	})
	code := exitKilled
	select {
	case code = <-done:
	case <-s.killed: // do not wait for a program that ignores its context
	}
	p.task.mu.Lock()
	signal := p.task.killedBy
	p.task.mu.Unlock()
	s.end(code, signal)
	p.task.end(code)
}

// command prepares a command line to run as the login shell of the user.
func (s *session) command(line string) bool {
	in, feed, err := os.Pipe()
	if err != nil {
		return false
	}
	p := s.client.host.loginProcess(s.ctx, line, in, s.channel, s.channel.Stderr())
	s.leader = p.task
	var once sync.Once
	p.task.onKill = func(signal string) {
		if signal == "KILL" {
			once.Do(func() { close(s.killed) })
		}
	}
	s.start = func() { s.exec(p, in, feed) }
	return true
}

// end sends the exit status of the command. The caller closes the channel. end sends no EOF before, because the children of a
// killed program may still be writing.
func (s *session) end(code int, signal string) {
	if signal != "" {
		_, _ = s.channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal      string
			Core        bool
			Error, Lang string
		}{Signal: signal}))
		return
	}
	_, _ = s.channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code) & 0xff})) //nolint:gosec // exit codes are bytes
}

func (s *session) sftp() {
	s.client.host.serveSFTP(s.channel, s.client.host.config.User)
	s.end(0, "")
	_ = s.channel.Close()
}
