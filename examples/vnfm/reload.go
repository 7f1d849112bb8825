package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
)

// reloaded is a value made from files, which is made again after one of the files has changed. It compares the contents at each use: that
// finds files that were replaced through links, as Kubernetes replaces those of a mounted secret, and depends on no clock.
type reloaded[T any] struct {
	setting string
	read    func() ([][]byte, error) // the contents of the files
	parse   func(contents [][]byte) (T, error)
	log     *slog.Logger

	mu       sync.Mutex
	contents [][]byte // of the latest attempt
	value    T        // of the latest attempt that succeeded
	fault    string   // of the latest attempt; "" if it succeeded
}

// load makes the value for the first time.
func (r *reloaded[T]) load() (err error) {
	if r.contents, err = r.read(); err == nil {
		r.value, err = r.parse(r.contents)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.setting, err)
	}
	return nil
}

// current returns the value for the files as they are now. If they are faulty, it returns the value of before, and logs the fault once.
func (r *reloaded[T]) current() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	contents, err := r.read()
	if err == nil && slices.EqualFunc(contents, r.contents, bytes.Equal) {
		return r.value
	}
	r.contents = contents // nil if a file cannot be read
	var value T
	if err == nil {
		value, err = r.parse(contents)
	}
	switch {
	case err == nil:
		r.value, r.fault = value, ""
		r.log.Info("files were read again", "setting", r.setting)
	case err.Error() != r.fault:
		r.fault = err.Error()
		r.log.Error("changed files are faulty: the former ones stay in use", "setting", r.setting, "error", err)
	}
	return r.value
}

// server returns the configuration of the HTTP server, nil without TLS. Each handshake uses the files as they are then.
func (t tlsConfig) server(log *slog.Logger) (*tls.Config, error) {
	if t.Certificate == "" {
		return nil, nil
	}
	files := &reloaded[*tls.Config]{setting: "tls", read: t.read, parse: t.parse, log: log}
	if err := files.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.current(), nil }}, nil
}

// read returns the certificate, its key and, if clients have certificates, their authorities.
func (t tlsConfig) read() ([][]byte, error) {
	certificate, err := os.ReadFile(t.Certificate)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	key, err := t.Key.read()
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	contents := [][]byte{certificate, []byte(key.Reveal())}
	if t.ClientCA == "" {
		return contents, nil
	}
	authorities, err := os.ReadFile(t.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("client_ca: %w", err)
	}
	return append(contents, authorities), nil
}

// parse returns the configuration of a connection for the contents that read returns. No session is resumed: a client whose authority was
// removed would be accepted for as long as its session lasts.
func (t tlsConfig) parse(contents [][]byte) (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, SessionTicketsDisabled: true}
	if t.ClientCA == "" {
		return out, nil
	}
	out.ClientAuth = tls.VerifyClientCertIfGiven
	if out.ClientCAs, err = parseAuthorities(contents[2]); err != nil {
		return nil, fmt.Errorf("client_ca: %s %w", t.ClientCA, err)
	}
	return out, nil
}

// transportFor returns a transport to a server whose certificate is of the authorities in a file, as they are at each request.
func transportFor(setting, file string, log *slog.Logger) (http.RoundTripper, error) {
	files := &reloaded[*http.Transport]{setting: setting, log: log,
		read: func() ([][]byte, error) {
			content, err := os.ReadFile(file) //nolint:gosec // the operator's file
			if err != nil {
				return nil, err
			}
			return [][]byte{content}, nil
		},
		parse: func(contents [][]byte) (*http.Transport, error) {
			pool, err := parseAuthorities(contents[0])
			if err != nil {
				return nil, fmt.Errorf("%s %w", file, err)
			}
			return newTransport(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}), nil
		}}
	return roundTripper(func(r *http.Request) (*http.Response, error) { return files.current().RoundTrip(r) }), files.load()
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// parseAuthorities reads certificates in PEM.
func parseAuthorities(text []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("has no certificates in PEM")
	}
	return pool, nil
}
