package access_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// FuzzAttributes: no vimConnectionInfo causes a panic, and faults never show a password.
func FuzzAttributes(f *testing.F) {
	f.Add(`{"endpoint": "https://k/v3", "trustedCertificates": ["x"]}`, `{"username": "u", "project": "p"}`)
	f.Add(`{"endpoint": "https://u:p@k", "interface": 7}`, `{"token": "t", "cert_verify": "perhaps"}`)
	f.Add(`{"skipCertificateVerification": {}}`, `{"applicationCredentialId": [], "applicationCredentialSecret": "s"}`)
	password, err := vnflcm.ParseParams([]byte(`{"password": "canary-password"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, at, who string) {
		var vim vnflcm.VimConnectionInfo
		vim.InterfaceInfo, _ = vnflcm.ParseParams([]byte(at))
		others, _ := vnflcm.ParseParams([]byte(who))
		var err error
		if vim.AccessInfo, err = others.Merge(password); err != nil {
			t.Fatal(err)
		}
		err = access.Validate(vim)
		access.Unknown(vim)
		if err != nil && strings.Contains(err.Error(), "canary-password") {
			t.Errorf("%s %s: %v", at, who, err)
		}
	})
}
