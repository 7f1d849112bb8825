package mgmt

import (
	"github.com/vnfkit/vnfkit/internal/login"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Login are the attributes of a request that say as whom one logs in to a machine.
type Login struct {
	Username   string        `json:"username"`
	Password   vnflcm.Secret `json:"password"`
	PrivateKey vnflcm.Secret `json:"private_key"` // beyond Tacker; PEM or OpenSSH's form
	Passphrase vnflcm.Secret `json:"passphrase"`  // of the private key
}

// Validate reports every fault (*vnflcm.ParamError, joined), by the attributes' names after prefix, such as "ssh_".
// Values are left out.
func (l Login) Validate(prefix string) error {
	_, err := login.Login(l).Auth(prefix)
	return err
}
