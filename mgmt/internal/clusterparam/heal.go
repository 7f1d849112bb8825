package clusterparam

import "github.com/vnfkit/vnfkit/vnflcm"

// healParams are the attributes of a heal request about healing the whole VNF. The infrastructure driver uses them.
type healParams struct {
	All *bool `json:"all"`
}

// ConfirmWholeHeal refuses to heal the whole VNF unless the request has additionalParams.all, true or false.
func ConfirmWholeHeal(op *vnflcm.Operation) error {
	if !op.WholeVNF() {
		return nil
	}
	var params healParams
	if _, err := op.Heal.AdditionalParams.Decode(&params); err != nil || params.All != nil {
		return err
	}
	return &vnflcm.ParamError{Path: "additionalParams.all",
		Reason: "is required, true or false: the request names no VNFC (vnfcInstanceId), so every machine of the cluster would be replaced and its data would be lost"}
}
