package tosca

import "errors"

// What look-ups and requests are refused for.
var (
	// ErrUnknown is wrapped by the errors of look-ups that name something the
	// VNFD does not have: a flavour, an aspect, an instantiation level.
	ErrUnknown = errors.New("not in the VNFD")
	// ErrScaleLevel is wrapped by the errors about scale levels an aspect does
	// not have.
	ErrScaleLevel = errors.New("scale level out of range")
	// ErrVDUProfile is wrapped by the errors about numbers of VNFCs a VDU must
	// not have.
	ErrVDUProfile = errors.New("outside of its vdu_profile")
	// ErrNotSupported is wrapped by the errors about requests that the LCM
	// operations configuration of the VNF rules out.
	ErrNotSupported = errors.New("not supported by the VNF")
)
