package access

import (
	"encoding/base64"
	"strings"

	"github.com/vnfkit/vnfkit/internal/vimattributes"
)

// certificates returns the certificates of a section as PEM. The attribute is a string or a list of strings.
func certificates(s *vimattributes.Section) string {
	var all []string
	for _, name := range []string{"trustedCertificates", "ssl_ca_cert", "caCert"} {
		value := s.Value(name)
		list, ok := value.([]any)
		if !ok && value != nil {
			list = []any{value}
		}
		for _, item := range list {
			text, ok := item.(string)
			if !ok {
				s.Fault(name, "", "must be certificates in PEM form")
			} else if text != "" && !strings.EqualFold(text, "none") { // Tacker writes None for no certificate
				all = append(all, certificatesPEM(text))
			}
		}
	}
	return strings.Join(all, "\n")
}

// certificatesPEM returns PEM. It accepts PEM, and PEM in base64 as in SOL003.
func certificatesPEM(text string) string {
	if !strings.Contains(text, "-----BEGIN") {
		if plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err == nil {
			return string(plain)
		}
	}
	return text
}
