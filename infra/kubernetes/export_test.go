package kubernetes

// For tests of what reads untrusted text.
var (
	ParseLiteral = parseLiteral
	ParseMeta    = parseMeta
	Setting      = setting
	Packaged     = packaged
)

// NewestFirst is the order in which scaling in takes VNFCs.
var NewestFirst = newestFirst

// MCIOPRelease is the name of the release of an MCIOP.
var MCIOPRelease = mciopRelease
