// Package archtest tests rules of the repository: which package may import which, how many packages a public package
// may link, what every public package documents, which words comments and guides avoid. The import rules are in
// .golangci.yml too; here they are checked against the build itself.
package archtest
