package hookrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TackerV2 is a Call from OpenStack Tacker: the data that the conductor of its version 2 API passes to the management
// driver script of a VNF package. It lacks the addresses of machines: open the package in Dir, read the stack, and call
// SetResources.
type TackerV2 struct {
	Call
	Dir       string // where Tacker has unpacked the VNF package for the time of the hook
	FlavourID string // of the VNF
	StackID   string // id of the VNF's stack; empty before it is made
	removed   []string
}

// tackerV2 is the dictionary of Tacker, as JSON.
type tackerV2 struct {
	Operation vnflcm.Hook     `json:"operation"`
	Request   json.RawMessage `json:"request"`
	Instance  struct {
		ID   string                `json:"id"`
		VIMs vnflcm.VimConnections `json:"vimConnectionInfo"`
		Info struct {
			FlavourID string `json:"flavourId"`
			Metadata  struct {
				StackID string `json:"stack_id"`
			} `json:"metadata"`
		} `json:"instantiatedVnfInfo"`
	} `json:"vnf_instance"`
	GrantRequest struct {
		OperationID string `json:"vnfLcmOpOccId"`
		Removed     []struct {
			Type     string `json:"type"`
			Resource struct {
				ID string `json:"resourceId"`
			} `json:"resource"`
		} `json:"removeResources"`
	} `json:"grant_request"`
	Grant *vnflcm.Grant `json:"grant_response"`
	Dir   string        `json:"tmp_csar_dir"`
}

// maxTackerV2 bounds what FromTackerV2 reads: an instance of a thousand machines has about 2 MiB.
const maxTackerV2 = 64 << 20

// FromTackerV2 reads a Call from the JSON form of the dictionary that Tacker writes, pickled, to the standard input of
// a script. The OperationID is the id of Tacker's operation, so a retry continues. An error is ErrInvalidRequest and
// names the attribute.
func FromTackerV2(r io.Reader) (*TackerV2, error) {
	text, err := bounded.Read(r, maxTackerV2)
	if errors.Is(err, bounded.ErrTooLarge) {
		return nil, &vnflcm.ParamError{Reason: err.Error()}
	}
	if err != nil {
		return nil, fmt.Errorf("hookrun: what Tacker has written: %w", err)
	}
	var said tackerV2
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("%w: what Tacker has written: %w", vnflcm.ErrInvalidRequest, err)
	}
	t := &TackerV2{Dir: said.Dir, FlavourID: said.Instance.Info.FlavourID, StackID: said.Instance.Info.Metadata.StackID,
		Call: Call{OperationID: said.GrantRequest.OperationID, InstanceID: said.Instance.ID, Hook: said.Operation, Grant: said.Grant}}
	for _, r := range said.GrantRequest.Removed {
		if r.Type == "COMPUTE" {
			t.removed = append(t.removed, r.Resource.ID)
		}
	}
	err1 := t.decode(said.Request)
	var err2, err3 error
	if t.VIM, err2 = said.machines(); t.Dir == "" {
		err3 = &vnflcm.ParamError{Path: "tmp_csar_dir", Reason: "is required"}
	}
	err = errors.Join(checkID("grant_request.vnfLcmOpOccId", t.OperationID), checkID("vnf_instance.id", t.InstanceID), err1, err2, err3)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// decode reads the request, whose type follows from the hook.
func (t *TackerV2) decode(text json.RawMessage) (err error) {
	base, _ := baseOf(t.Hook)
	switch kinds[base] {
	case vnflcm.OpInstantiate:
		var r vnflcm.InstantiateVnfRequest
		_, err = vnflcm.DecodeRequest(text, &r)
		t.Request, t.FlavourID = r, r.FlavourID
	case vnflcm.OpScale:
		t.Request, err = decoded[vnflcm.ScaleVnfRequest](text)
	case vnflcm.OpHeal:
		t.Request, err = decoded[vnflcm.HealVnfRequest](text)
	case vnflcm.OpTerminate:
		t.Request, err = decoded[vnflcm.TerminateVnfRequest](text)
	case vnflcm.OpChangeExtConn:
		t.Request, err = decoded[vnflcm.ChangeExtVnfConnectivityRequest](text)
	default:
		return &vnflcm.ParamError{Path: "operation", Value: string(t.Hook), Reason: "is no hook of an operation that drivers take part in"}
	}
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return nil
}

func decoded[T any](text json.RawMessage) (T, error) {
	var r T
	_, err := vnflcm.DecodeRequest(text, &r)
	return r, err
}

// machines is the VIM on which the machines are. A cluster that a driver has made of them may be beside it.
func (t tackerV2) machines() (vnflcm.VimConnectionInfo, error) {
	i := slices.IndexFunc(t.Instance.VIMs, func(v vnflcm.VimConnectionInfo) bool {
		return vnflcm.VIMTypeNames(v.VimType)[0] == "openstack"
	})
	if i < 0 {
		return vnflcm.VimConnectionInfo{}, &vnflcm.ParamError{Path: "vnf_instance.vimConnectionInfo", Reason: "has no OpenStack"}
	}
	return t.Instance.VIMs[i], nil
}

// SetResources sets the current resources, with the ids that VNFCs have in all operations. Tacker names VNFCs by their
// servers: the Change of a scale-in and the VNFCs that a heal names are derived from them.
func (t *TackerV2) SetResources(now vnflcm.Resources) {
	t.Resources = now
	var removed []vnflcm.VNFC
	for _, v := range now.VNFCs {
		if slices.Contains(t.removed, v.ResourceID) {
			removed = append(removed, v)
		}
	}
	switch r := t.Request.(type) {
	case vnflcm.ScaleVnfRequest:
		if r.Type == vnflcm.ScaleIn && t.Hook == vnflcm.ScaleStart {
			t.Change.Removed = removed
		}
	case vnflcm.HealVnfRequest:
		if len(r.VnfcInstanceID) == 0 {
			return // the whole VNF
		}
		r.VnfcInstanceID = slices.Clone(r.VnfcInstanceID)
		for _, v := range removed {
			r.VnfcInstanceID = append(r.VnfcInstanceID, v.ID)
		}
		t.Request = r
	}
}
