package registry

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
