package mgmt

import "github.com/vnfkit/vnfkit/internal/login"

// Login has the credentials with which a driver logs in to machines over SSH, in the form of a request's attributes: username,
// password, private_key and passphrase. A password or a private key is required. The user needs sudo.
type Login = login.Login
