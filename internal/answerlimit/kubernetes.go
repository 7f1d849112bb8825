package answerlimit

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

const (
	// maxStatus bounds a Status of Kubernetes: that of an invalid object may quote the object.
	maxStatus = 1 << 20
	// maxCauses bounds the causes of a Status.
	maxCauses = 16
)

// ApplyKubernetes is Apply for a Kubernetes API. It also shortens the messages of a Status, which clients put into
// their errors.
func ApplyKubernetes(answer *http.Response) {
	if answer.StatusCode < http.StatusBadRequest {
		Apply(answer)
		return
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxStatus))
	if shortened := shortenStatus(text); shortened != nil {
		text = shortened
	} else if len(text) > maxRefusal {
		text = text[:maxRefusal]
	}
	answer.ContentLength = int64(len(text))
	answer.Header.Del("Content-Length")
	answer.Body = &refusal{Reader: bytes.NewReader(text), err: err, Closer: answer.Body}
}

// refusal is a body that has been read, and the error that ended it.
type refusal struct {
	io.Reader
	io.Closer
	err error
}

// Read implements io.Reader.
func (r *refusal) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF && r.err != nil {
		err = r.err
	}
	return n, err
}

// shortenStatus returns a Status with short messages, or nil for another text. It keeps all other fields.
func shortenStatus(text []byte) []byte {
	var status map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&status) != nil || status["kind"] != "Status" {
		return nil
	}
	shortenMessage(status)
	if details, ok := status["details"].(map[string]any); ok {
		causes, _ := details["causes"].([]any)
		if len(causes) > maxCauses {
			causes = causes[:maxCauses]
			details["causes"] = causes
		}
		for _, each := range causes {
			if cause, ok := each.(map[string]any); ok {
				shortenMessage(cause)
			}
		}
	}
	out, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	return out
}

func shortenMessage(of map[string]any) {
	if message, ok := of["message"].(string); ok {
		of["message"] = Shorten(message)
	}
}
