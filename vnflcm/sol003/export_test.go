package sol003

import (
	"cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Routes returns the methods and patterns that a handler with these options serves.
func Routes(o Options) (list []string) {
	for _, r := range o.routes() {
		for method := range r.methods {
			list = append(list, method+" "+r.pattern)
		}
	}
	return list
}

// ConvertVIM converts a body for a VIM, and returns the document of the result. registered is the type of the VIM, "" for a new VIM.
func ConvertVIM(text, registered string) (any, error) {
	var req vimRequest
	if _, err := vnflcm.DecodeRequest([]byte(text), &req); err != nil || req.VIM == nil {
		return nil, err
	}
	converted, err := req.VIM.request(registered)
	if err != nil {
		return nil, err
	}
	converted.Connection.VimType = cmp.Or(converted.Connection.VimType, registered)
	return (&call{}).renderVIM(&vnflcm.VIM{VimConnectionInfo: converted.Connection}), nil
}
