// Package distribution simulates the HTTP half of the program distribution 2.8, a container registry: what clients push lies in
// files of a machine, so it outlives the program.
//
// It refuses what distribution refuses: uploads that are continued at another address than the one it gave, digests that do not
// match, manifests of which a part is missing, deletion by tag, and deletion unless that is enabled.
//
// It does not know pages of lists, uploads in chunks that arrive in another order, schema 1, referrers, garbage collection and tokens.
//
// TestContract holds it and a real registry to the same answers.
//
// pkg/registry of go-containerregistry is not used: its manifests end with the process, and it accepts manifests of which a part is
// missing and deletion by tag.
package distribution
