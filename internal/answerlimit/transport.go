package answerlimit

import (
	"cmp"
	"net/http"
)

// Transport bounds the bodies of answers: reading more than Most bytes fails with *http.MaxBytesError.
type Transport struct {
	// Next makes the requests. Default: http.DefaultTransport.
	Next http.RoundTripper
	Most int64
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := cmp.Or(t.Next, http.DefaultTransport).RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, t.Most)
	}
	return answer, err
}
