package tosca

import "errors"

// ErrUnknown is wrapped by the errors of look-ups that name something the VNFD
// does not have: a flavour, an aspect, an instantiation level.
var ErrUnknown = errors.New("not in the VNFD")

// ErrScaleLevel is wrapped by the errors about scale levels an aspect does not
// allow.
var ErrScaleLevel = errors.New("scale level out of range")
