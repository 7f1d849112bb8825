package mgmt

import "github.com/vnfkit/vnfkit/internal/login"

// Login are the attributes of a request that say as whom one logs in to a machine: username, password, private_key and passphrase.
type Login = login.Login
