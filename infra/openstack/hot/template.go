// Package hot reads the Heat templates of a VNF package.
package hot

// Template is a base HOT with the files that it refers to.
type Template struct{}
