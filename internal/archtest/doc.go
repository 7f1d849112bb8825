// Package archtest holds the rules of the repository as tests: who may import whom, what a package may cost
// whoever imports it alone, what every public package documents. The import rules are in .golangci.yml too;
// here they come from the build itself.
package archtest
