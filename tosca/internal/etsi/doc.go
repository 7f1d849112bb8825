// Package etsi holds the type definitions that a VNFD builds on, so that a package need not contain them and none are
// downloaded: the files of ETSI GS NFV-SOL 001, and the normative types of the TOSCA Simple Profile that they are
// derived from.
//
// sol001/README.md states the origin of ETSI's files and their licence.
package etsi
