package client

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The forms exclude characters that are special in paths, shells, TOML or JSON: files and directories are named after
// servers. The OCI distribution specification defines image names.
var (
	hostName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
	serverForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
	imageForm  = regexp.MustCompile(`^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
)

// Validate reports every fault of the connections (*vnflcm.ParamError, joined). path is where the list lies in the
// request. Certificates are read from the package.
func (c Connections) Validate(path string, open linux.Open) error {
	v := &validator{open: open}
	servers, names := map[string]int{}, map[string]string{}
	for i, r := range c {
		v.path = fmt.Sprintf("%s[%d]", path, i)
		if first, taken := servers[strings.ToLower(r.Server)]; taken && r.Server != "" {
			v.fault("server", r.Server, fmt.Sprintf("is the one of %s[%d] too: connect to each registry once", path, first))
		} else {
			servers[strings.ToLower(r.Server)] = i
		}
		v.connection(r)
		if e, err := hostEntry(r.HostsString); err == nil && e.Name != "" {
			if other := names[e.Name]; other != "" && other != e.IP.String() {
				v.fault("hosts_string", r.HostsString, "gives "+e.Name+" another address than an entry before: "+other)
			}
			names[e.Name] = e.IP.String()
		}
	}
	return errors.Join(v.faults...)
}

// validator collects faults.
type validator struct {
	open   linux.Open
	path   string
	faults []error
}

func (v *validator) fault(name, value, reason string) {
	v.faults = append(v.faults, &vnflcm.ParamError{Path: v.path + "." + name, Value: value, Reason: reason})
}

func (v *validator) connection(r Connection) {
	if r.Type != HTTP && r.Type != HTTPS {
		v.fault("connection_type", r.Type, "must be 0 (HTTP) or 1 (HTTPS)")
	}
	v.server(r.Server)
	v.login(r)
	if _, err := hostEntry(r.HostsString); err != nil {
		v.fault("hosts_string", r.HostsString, `must be an address and a host name: "192.168.0.20 registry.example.com"`)
	}
	if r.ProbeImage != "" && !imageForm.MatchString(r.ProbeImage) {
		v.fault("probe_image", r.ProbeImage, "must be the name of an image without the server, such as team/pause:3.10")
	}
	v.authority(r.CertificatePath, r.CACertificate)
}

// authority checks the CA certificates of a server.
func (v *validator) authority(path, certificates string) {
	if certificates != "" {
		if path != "" {
			v.fault("ca_certificate", "", "cannot be combined with certificate_path: give one of them")
		}
		if _, err := caCertificates([]byte(certificates)); err != nil {
			v.fault("ca_certificate", "", err.Error())
		}
	}
	if path != "" {
		if _, err := readCA(v.open, path); err != nil {
			v.fault("certificate_path", path, err.Error())
		}
	}
}

func (v *validator) server(server string) {
	switch port := serverPort(server); {
	case server == "":
		v.fault("server", "", "is required")
	case !serverForm.MatchString(server):
		v.fault("server", server, "must be a host name or address, with or without a port: 192.168.0.10:5000")
	case port < 1 || port > 65535:
		v.fault("server", server, "the port is not a number from 1 to 65535")
	case strings.EqualFold(server, "docker.io"):
		v.fault("server", server, "is the public registry, and no private one")
	}
}

// serverPort is the port of a server in the right form, 1 without.
func serverPort(server string) int {
	i := strings.LastIndexByte(server, ':')
	if i < 0 || strings.HasSuffix(server, "]") {
		return 1
	}
	port, _ := strconv.Atoi(server[i+1:])
	return port
}

// login excludes characters that the files and programs for credentials cannot store: files have "name:password", and
// programs get each value as one line.
func (v *validator) login(r Connection) {
	if strings.ContainsFunc(r.Username, unicode.IsControl) || strings.Contains(r.Username, ":") || len(r.Username) > maxCredential {
		v.fault("username", "", fmt.Sprintf("may hold neither a colon nor control characters, and no more than %d bytes", maxCredential))
	}
	switch password := r.Password.Reveal(); {
	case strings.ContainsFunc(password, unicode.IsControl) || len(password) > maxCredential:
		v.fault("password", "", fmt.Sprintf("may hold no control characters, and no more than %d bytes", maxCredential))
	case r.login() && password == "":
		v.fault("password", "", "is required with a username")
	}
}

// maxCredential bounds user names and passwords: they pass through the environment of a program. Tokens of cloud
// registries have some 3 KiB.
const maxCredential = 16 << 10

// maxCA bounds a file of CA certificates: the bundle of all public ones has a quarter of that.
const maxCA = 1 << 20

// readCA reads the CA certificates of a file of the package, and returns them without other text.
func readCA(open linux.Open, path string) ([]byte, error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the package has no such file")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := bounded.Read(f, maxCA)
	if err != nil {
		return nil, err
	}
	return caCertificates(data)
}

func caCertificates(data []byte) ([]byte, error) {
	var out bytes.Buffer
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("holds a %.40q: only certificates belong into it, since it is put on every machine", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("holds a certificate that cannot be read")
		}
		// As crypto/x509 decides whether a certificate may sign others: version 1 does not state it.
		if cert.Version >= 3 && (!cert.BasicConstraintsValid || !cert.IsCA) {
			return nil, fmt.Errorf("holds the certificate of %.100q, which is no CA: give the one that has signed the registry's", cert.Subject)
		}
		if err := pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes}); err != nil {
			return nil, err
		}
	}
	if out.Len() == 0 {
		return nil, errors.New("must hold CA certificates in PEM form (-----BEGIN CERTIFICATE-----)")
	}
	return out.Bytes(), nil
}
