package kubeadm

// For the fuzz tests of parsers and quoting.
var (
	WithoutSwap = withoutSwap
	ProxyDropIn = proxyDropIn
	ScriptLine  = scriptLine
	CAHash      = caHash
	NewToken    = newToken
)
