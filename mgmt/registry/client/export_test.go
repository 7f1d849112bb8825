package client

// AuthOf finds credentials in a config.json.
func AuthOf(config []byte, server string) (credentials string, found bool, err error) {
	a, err := authOf(config, server)
	if a == nil || err != nil {
		return "", false, err
	}
	return a.credentials(), true, nil
}

// What the fuzz targets call.
var (
	CACertificates = caCertificates
	ContainerdDir  = containerdDir
	HostEntry      = hostEntry
	HostsTOML      = hostsTOML
	WithAuths      = withAuths
	WithInsecure   = withInsecure
	WithMember     = withMember
	WithoutMember  = withoutMember
)
