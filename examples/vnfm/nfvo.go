package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
)

// nfvoConfig is the NFVO above the VNFM.
type nfvoConfig struct {
	URL          string      `yaml:"url"`           // root of its APIs
	SOL003       nfvo.SOL003 `yaml:"sol003"`        // version that it serves: 2.6.1 or 3.3.1, which is the default
	CA           string      `yaml:"ca"`            // PEM file of the authorities of its certificates; default: those of the system
	Certificate  string      `yaml:"certificate"`   // PEM file of the client certificate of the VNFM; default: none
	Key          secret      `yaml:"key"`           // PEM, in a file or in the environment
	TokenURL     string      `yaml:"token_url"`     // of OAuth 2.0; default: no tokens
	ClientID     string      `yaml:"client_id"`     // with token_url
	ClientSecret secret      `yaml:"client_secret"` // read at each request for a token; default: the certificate identifies the client
	Packages     string      `yaml:"packages"`      // folder of packages that come from the NFVO; default: none do
}

// isGiven reports whether the configuration has an NFVO.
func (n nfvoConfig) isGiven() bool { return !reflect.DeepEqual(n, nfvoConfig{}) }

// check reports the faults of the settings.
func (n nfvoConfig) check(wrong func(is bool, setting, reason string)) {
	if !n.isGiven() {
		return
	}
	wrong(n.URL == "", "nfvo.url", "is required: the root of the APIs of the NFVO")
	wrong((n.Certificate == "") == n.Key.given(), "nfvo", "needs both certificate and key")
	if n.Certificate != "" {
		_, err := n.readCertificate()
		wrong(err != nil, "nfvo.certificate", fmt.Sprint(err))
	}
	client, err := n.client("", slog.New(slog.DiscardHandler))
	wrong(n.URL != "" && err != nil, "nfvo", fmt.Sprint(err))
	if err == nil {
		client.Close()
	}
}

// client returns the client of the NFVO. lcm is the URL of the API for VNF lifecycle management.
func (n nfvoConfig) client(lcm string, log *slog.Logger) (*nfvo.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if n.CA != "" {
		content, err := os.ReadFile(n.CA)
		if err == nil {
			trust.RootCAs, err = parseAuthorities(content)
		}
		if err != nil {
			return nil, fmt.Errorf("ca: %s: %w", n.CA, err)
		}
	}
	if n.Certificate != "" { // each connection uses the files as they are then
		trust.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return n.readCertificate() }
	}
	c := nfvo.Config{URL: n.URL, LCM: lcm, SOL003: n.SOL003, TokenURL: n.TokenURL, ClientID: n.ClientID, TLS: trust, Logger: log}
	if n.ClientSecret.given() {
		c.ClientSecret = func() (vnflcm.Secret, error) { return n.ClientSecret.read() }
	}
	return nfvo.New(c)
}

// readCertificate reads the client certificate of the VNFM.
func (n nfvoConfig) readCertificate() (*tls.Certificate, error) {
	text, err1 := os.ReadFile(n.Certificate)
	key, err2 := n.Key.read()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(text, []byte(key.Reveal()))
	return &pair, err
}

// nfvoPackagesPath is where the NFVO sends notifications of packages, below api_root.
const nfvoPackagesPath = "/nfvo/packages"

// openNFVO makes the client of the NFVO, and returns the packages of the VNFM with those of the NFVO.
func (v *vnfm) openNFVO(own vnflcm.Packages) (vnflcm.Packages, error) {
	n := v.config.NFVO
	if !n.isGiven() {
		return own, nil
	}
	var err error
	if v.orchestrator, err = n.client(v.lcmURL(), v.log); err != nil {
		return nil, fmt.Errorf("nfvo: %w", err)
	}
	v.atEnd(func() error { v.orchestrator.Close(); return nil })
	if n.Packages == "" {
		return own, nil
	}
	o := nfvo.PackageOptions{Further: own, Logger: v.log}
	if v.config.APIRoot != "" {
		o.Callback = v.config.APIRoot + nfvoPackagesPath
	}
	v.fetched, err = nfvo.NewPackageCache(v.orchestrator, n.Packages, o)
	return v.fetched, err
}

// lcmURL returns the URL of the API for VNF lifecycle management in the version that the NFVO serves, "" without api_root.
func (v *vnfm) lcmURL() string {
	switch {
	case v.config.APIRoot == "":
		return ""
	case v.config.NFVO.SOL003 == nfvo.V261:
		return v.config.APIRoot + "/vnflcm/v1"
	}
	return v.config.APIRoot + "/vnflcm/v2"
}
