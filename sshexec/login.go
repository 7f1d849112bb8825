package sshexec

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
)

// login holds the credentials of one login attempt.
type login struct {
	methods []ssh.AuthMethod
	faults  []error // errors of unusable credentials, reported if no other credential is accepted
	done    []func()
}

// refused returns the error for a login that failed.
func (l *login) refused(t Target, reason error) error {
	return fmt.Errorf("%w: user %s: %w", ErrAuth, t.User, errors.Join(append([]error{reason}, l.faults...)...))
}

// close releases the resources of the credentials.
func (l *login) close() {
	for _, done := range l.done {
		done()
	}
}

// credentials returns the credentials of t for a login. Methods are in the order in which they first appear in Target.Auth. One
// method has all credentials of its kind, because x/crypto/ssh tries each kind only once.
func (t Target) credentials(ctx context.Context) (*login, error) {
	l := &login{}
	signers := l.signers(ctx, t.Auth)
	l.methods = t.typed(ctx)
	if len(signers) > 0 {
		at := len(l.methods)
		if t.Auth[0].method().keys != nil {
			at = 0
		}
		l.methods = slices.Insert(l.methods, at, ssh.PublicKeys(signers...))
	}
	if len(l.methods) == 0 {
		l.close()
		return nil, l.refused(t, errors.New("the agent and the key files of Target.Auth have no key to offer"))
	}
	return l, nil
}

// signers returns the keys without duplicates, because a host counts every key as an attempt.
func (l *login) signers(ctx context.Context, auths []Auth) []ssh.Signer {
	var all []ssh.Signer
	for _, a := range auths {
		source := a.method().keys
		if source == nil {
			continue
		}
		signers, done, err := source(ctx)
		l.done = append(l.done, done)
		if err != nil {
			l.faults = append(l.faults, err)
		}
		for _, s := range signers {
			if !slices.ContainsFunc(all, func(o ssh.Signer) bool { return sameKey(o.PublicKey(), s.PublicKey()) }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// typed returns the methods "password" and "keyboard-interactive".
func (t Target) typed(ctx context.Context) []ssh.AuthMethod {
	var passwords []string
	var answer func(context.Context, Challenge) ([]string, error)
	for _, a := range t.Auth {
		switch m := a.method(); {
		case m.password != nil:
			passwords = append(passwords, *m.password)
		case m.answer != nil:
			answer = m.answer
		}
	}
	methods := passwordMethods(passwords, answer == nil)
	if answer != nil {
		methods = append(methods, ssh.KeyboardInteractive(func(name, instruction string, texts []string, echos []bool) ([]string, error) {
			c := Challenge{Host: t.Name, User: t.User, Name: name, Instruction: instruction}
			for i, text := range texts {
				c.Questions = append(c.Questions, Question{Text: text, Echo: echos[i]})
			}
			if len(texts) == 0 { // OpenSSH ends the conversation with an empty challenge
				return nil, nil
			}
			answers, err := answer(ctx, c)
			if err == nil && len(answers) != len(texts) {
				err = fmt.Errorf("%d answers to %d questions", len(answers), len(texts))
			}
			return answers, err
		}))
	}
	return methods
}

func passwordMethods(passwords []string, interactive bool) []ssh.AuthMethod {
	if len(passwords) == 0 {
		return nil
	}
	next := 0
	methods := []ssh.AuthMethod{ssh.RetryableAuthMethod(ssh.PasswordCallback(func() (string, error) {
		next++
		return passwords[(next-1)%len(passwords)], nil
	}), len(passwords))}
	if !interactive {
		return methods
	}
	round := 0
	answer := func(_, _ string, questions []string, echos []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i, echo := range echos {
			if echo {
				return nil, errors.New("the host asks for more than a password")
			}
			answers[i] = passwords[round%len(passwords)]
		}
		if len(questions) > 0 {
			round++
		}
		return answers, nil
	}
	return append(methods, ssh.RetryableAuthMethod(ssh.KeyboardInteractive(answer), len(passwords)))
}
