package clusterparam

import "github.com/vnfkit/vnfkit/vnflcm"

// healParams are the attributes of a heal request that say how the whole VNF is healed. The infrastructure driver reads them.
type healParams struct {
	All *bool `json:"all"`
}

// ConfirmWholeHeal refuses to heal the whole VNF unless the request says that it is meant, by additionalParams.all.
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
