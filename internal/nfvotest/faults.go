package nfvotest

import (
	"io"
	"net/http"
	"net/http/httptest"
)

// Fault answers a request in the place of the NFVO, whose handler it may call.
type Fault func(w http.ResponseWriter, r *http.Request, handler http.HandlerFunc)

// Then sets the faults of the next requests, in this order; nil answers a request without a fault.
func (n *NFVO) Then(faults ...Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, faults...)
}

func (n *NFVO) nextFault() Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.faults) == 0 {
		return nil
	}
	next := n.faults[0]
	n.faults = n.faults[1:]
	return next
}

// Status answers with a status and a header of name and value pairs, without a body.
func Status(status int, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

// Problem answers with ProblemDetails.
func Problem(status int, title, detail string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { problem(w, status, title, detail) }
}

// Lost does what the request asks for and breaks the connection before the answer.
func Lost(_ http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
	handler(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Cut breaks the connection after so many bytes of the body of the answer.
func Cut(bytes int) Fault {
	return func(w http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
		whole := httptest.NewRecorder()
		handler(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:bytes])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Hang answers nothing until the client gives up.
func Hang(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
	_, _ = io.Copy(io.Discard, r.Body) // net/http notices the end of the connection only then
	<-r.Context().Done()
}
