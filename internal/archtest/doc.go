// Package archtest tests rules of the repository that no linter checks: how many packages a public package may link, what
// every public package documents, which words comments and guides avoid. The import rules are in .golangci.yml.
package archtest
