package registry

// For the tests of parsers.
var (
	ChooseImage = chooseImage
	Htpasswd    = htpasswd
	Matches     = matches
	PathForm    = pathForm
)

// User is one of the registry.
type User = userParam

// Issue makes a certificate for a name, its key and its CA.
func Issue(name string) (certificate, key []byte, ca string, err error) {
	a, err := newAuthority("tests")
	if err != nil {
		return nil, nil, "", err
	}
	certificate, key, err = a.issue([]string{name}, nil)
	return certificate, key, a.Certificate, err
}
