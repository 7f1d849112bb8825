package cnftest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
)

// asJSON translates the body of a request of client-go's typed clients, which prefer protobuf. Answers are JSON: all
// clients accept it.
func asJSON(r *http.Request) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/vnd.kubernetes.protobuf") {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 3<<20))
	if err != nil || len(body) == 0 {
		return err
	}
	o, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(*kind)
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Type", "application/json")
	return nil
}
