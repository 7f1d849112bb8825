// Package etsi holds the type definitions a VNFD builds on, so that a package need
// not contain them and nothing is fetched: the files of ETSI GS NFV-SOL 001, and
// the normative types of the TOSCA Simple Profile they are derived from.
//
// Where the files of ETSI come from, and their licence, is in sol001/README.md.
package etsi
