package retry

import (
	"errors"
	"net"
	"strings"
)

// Class is the kind of reason for which a wait continues, or a step has failed. The classes are few and contain no text of a peer, so a
// metric can have one as a label.
type Class string

// The classes.
const (
	HostUnreachable Class = "host-unreachable" // a machine does not answer, or the connection to it breaks
	HostCredentials Class = "host-credentials" // a machine refuses the login
	VIMUnreachable  Class = "vim-unreachable"  // the API of a VIM does not answer
	VIMCredentials  Class = "vim-credentials"  // the API of a VIM refuses the credentials
	Unreachable     Class = "unreachable"      // another peer does not answer
	Quota           Class = "quota"            // the reason names a quota
	Grant           Class = "grant"            // the NFVO has not answered
	Lock            Class = "lock"             // another program holds a lock
	NotReady        Class = "not-ready"        // the peer works on it
	Other           Class = "other"
)

// NewError returns an error of a class, with this text. Two errors are never the same.
func NewError(class Class, text string) error { return &classError{class, text} }

type classError struct {
	class Class
	text  string
}

func (e *classError) Error() string    { return e.text }
func (e *classError) WaitClass() Class { return e.class }

// ClassOf returns the class of an error: that of the first error in its tree with a method WaitClass, or else what its type or text allows.
// "": the error has none.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	if quotaIn(err.Error()) { // Heat, Nova and Kubernetes have no other sign of it
		return Quota
	}
	if classed, ok := errors.AsType[interface {
		error
		WaitClass() Class
	}](err); ok {
		return classed.WaitClass()
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return Unreachable
	}
	return ""
}

// ClassOfText returns the class of a report in words: Quota if it names one, else NotReady.
func ClassOfText(text string) Class {
	if quotaIn(text) {
		return Quota
	}
	return NotReady
}

// quotaIn reports whether a text says that a quota is full: "exceeded quota" of Kubernetes, "Quota exceeded" of OpenStack.
func quotaIn(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "exceeded quota") || strings.Contains(text, "quota exceeded") || strings.Contains(text, "exceeds quota")
}
