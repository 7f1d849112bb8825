package sol003

import (
	"encoding/json"

	"github.com/vnfkit/vnfkit/internal/sol003v2"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// object is a JSON object that is converted in place.
type object = map[string]any

// MarshalInstanceV2 returns the VnfInstance of version 2 of the API (SOL003 v3.3.1 5.5.2.2). An external connection point
// that exposes neither a connection point of a VNFC nor a virtual link is left out: version 2 has no form for one.
func MarshalInstanceV2(instance *vnflcm.VnfInstance) ([]byte, error) {
	document, err := json.Marshal(instance)
	if err != nil {
		return nil, err
	}
	return sol003v2.Instance(document)
}

// MarshalOperationV2 returns the VnfLcmOpOcc of version 2 of the API (SOL003 v3.3.1 5.5.2.13). operationParams has the
// form of a request of version 2.
func MarshalOperationV2(operation *vnflcm.VnfLcmOpOcc) ([]byte, error) {
	document, err := json.Marshal(operation)
	if err != nil {
		return nil, err
	}
	return sol003v2.Operation(document)
}
