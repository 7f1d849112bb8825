// Package etsi holds the type definitions on which a VNFD is based: the files of ETSI GS NFV-SOL 001, and the normative types of
// the TOSCA Simple Profile from which they are derived. So a VNF package need not contain these files, and nothing is downloaded.
//
// sol001/README.md states the origin of ETSI's files and their licence.
package etsi
