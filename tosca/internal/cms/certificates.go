package cms

import (
	"crypto/x509"
	"encoding/pem"
)

// ParseCertificates reads a file of certificates, which packages have beside their signatures (SOL004 clause 5). The file is PEM
// or DER; other PEM blocks are skipped. A file without certificates fails with ErrMalformed.
func ParseCertificates(data []byte) ([]*x509.Certificate, error) {
	blocks := certificateBlocks(data)
	if blocks == nil {
		blocks = [][]byte{data}
	}
	var out []*x509.Certificate
	for _, b := range blocks {
		list, err := x509.ParseCertificates(b)
		if err != nil {
			return nil, malformed("certificate: %w", err)
		}
		out = append(out, list...)
	}
	switch {
	case len(out) == 0:
		return nil, malformed("it holds no certificate")
	case len(out) > maxCertificates:
		return nil, malformed("it holds %d certificates, more than %d", len(out), maxCertificates)
	}
	return out, nil
}

func certificateBlocks(data []byte) [][]byte {
	var out [][]byte
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			out = append(out, block.Bytes)
		}
	}
	return out
}
