package helmcli

import "github.com/vnfkit/vnfkit/helmclient"

// What the tests of parsers need.
var (
	ParseRelease   = parseRelease
	ParseReleases  = parseReleases
	ParseDryRun    = parseDryRun
	ParseValues    = parseValues
	ParseChart     = parseChart
	ParseResources = parseResources
	ParseHooks     = parseHooks
	SplitChart     = splitChart
	Unpack         = unpack
	Pack           = pack
	PlainYAML      = plainYAML

	OnlyDefinitions = onlyDefinitions
)

// Input returns the document and the arguments of a command.
func Input(v helmclient.Values) ([]byte, []string, error) {
	out, err := mergeValues(v)
	return out.document, out.args, err
}

// Class returns the class of an error by helm's message.
func Class(stderr string) helmclient.Error { return (&failure{code: 1, stderr: stderr}).class() }

// FailedRecord marks a record as failed.
func FailedRecord(secret []byte, why string) ([]byte, error) {
	return editedRecord(secret, described(helmclient.Failed, why))
}
