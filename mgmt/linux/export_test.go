package linux

// For the tests of parsers and renderers.
var (
	OSRelease = osRelease
	KeyForm   = keyForm
	Sources   = Repository.sources
)
