package tosca

import "errors"

// Errors of look-ups in a VNFD and of requests that contradict it, found with errors.Is.
var (
	// ErrUnknown is wrapped if the VNFD does not have the named flavour, aspect, instantiation level or delta.
	ErrUnknown = errors.New("not in the VNFD")
	// ErrScaleLevel is wrapped if an aspect does not have the scale level.
	ErrScaleLevel = errors.New("scale level out of range")
	// ErrVDUProfile is wrapped if the number of VNFCs would violate the vdu_profile of a VDU.
	ErrVDUProfile = errors.New("outside of its vdu_profile")
	// ErrNotSupported is wrapped if the LCM operations configuration of the VNF does not allow the request.
	ErrNotSupported = errors.New("not supported by the VNF")
)
