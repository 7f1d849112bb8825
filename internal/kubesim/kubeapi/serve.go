package kubeapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// request is one request to the API.
type request struct {
	c    *Cluster
	http *http.Request
	body []byte
	path apiPath

	media   string // of the answer: "" is JSON
	dry     bool   // nothing is stored
	created bool
	applied bool // by server-side apply, which has set the owners of the fields

	faults []string // of the object, each with the path of its field
}

// Serve answers a request. alive reports, under the lock, whether the API server that was asked still runs.
func (c *Cluster) Serve(rw http.ResponseWriter, r *http.Request, alive func() bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 3<<20)) // the limit of a real API server
	if err != nil {
		return
	}
	q := &request{c: c, http: r, body: body}
	var out any
	var text []byte
	changed, gone, isText := false, false, false
	c.Host.Locked(func() {
		if gone = !alive(); gone {
			return
		}
		before := c.Revision
		out, err = q.answer()
		changed = r.Method != http.MethodGet || c.Revision != before
		var plain string
		if plain, isText = out.(string); isText {
			text = []byte(plain)
		} else if err == nil {
			text, err = json.Marshal(out)
		}
	})
	if gone {
		panic(http.ErrAbortHandler) // the server no longer runs
	}
	if changed {
		c.Host.Changed()
	}
	if watching, ok := out.(*watch); ok && err == nil {
		watching.stream(rw, alive)
		return
	}
	code := http.StatusOK
	if err != nil {
		code, text = status(err)
	} else if r.Method == http.MethodPost || q.created && r.Method == http.MethodPatch {
		code = http.StatusCreated
	}
	contentType := mediaJSON // as a real server marks /version and logs, too
	switch {
	case errors.Is(err, errNoEndpoint):
		code, text, contentType = http.StatusServiceUnavailable, []byte(err.Error()), "text/plain"
	case !isText:
		text, contentType = q.encoded(text)
	}
	rw.Header().Set("Content-Type", contentType)
	rw.WriteHeader(code)
	_, _ = rw.Write(text)
}

func status(err error) (code int, body []byte) {
	answer := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	if is, ok := errors.AsType[*apierrors.StatusError](err); ok {
		answer = is.Status()
	}
	answer.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, _ = json.Marshal(answer)
	return int(answer.Code), body
}

func (q *request) answer() (any, error) {
	user, err := q.user()
	if err != nil {
		return nil, err
	}
	switch q.http.URL.Path {
	case "/version":
		return map[string]any{"major": "1", "minor": "35", "gitVersion": "v" + q.c.Version, "platform": "linux/amd64"}, nil
	case "/livez":
		return "ok", nil
	}
	if !q.c.Host.Quorate() {
		return nil, apiFault(http.StatusInternalServerError, "", "etcdserver: request timed out")
	}
	if q.http.URL.Path == "/readyz" {
		return "ok", nil
	}
	if err := q.authorize(user); err != nil {
		return nil, err
	}
	if q.http.URL.Path == "/metrics" {
		return q.c.metrics(), nil
	}
	if out := q.kubeletPods(); out != nil {
		return out, nil
	}
	if out, err := q.proxied(); out != nil || err != nil {
		return out, err
	}
	if out, err := q.openAPI(); out != nil || err != nil {
		return out, err
	}
	notAcceptable := q.negotiate()
	if out := q.discovery(); out != nil {
		return out, notAcceptable
	}
	if q.path, err = q.c.parsePath(q.http.URL.Path); err != nil {
		return nil, err
	}
	if notAcceptable != nil && q.path.sub != "log" {
		return nil, notAcceptable
	}
	q.noteDeprecated()
	if err := errors.Join(q.checkQuery(), q.c.RunControllers()); err != nil {
		return nil, err
	}
	out, err := q.resource()
	if q.http.Method != http.MethodGet && !q.dry {
		err = errors.Join(err, q.c.RunControllers()) // the controllers hear of it at once
	}
	return out, err
}

// user is who asks: by a client certificate that the CA of the cluster has signed, or by a bearer token.
func (q *request) user() (string, error) {
	if state := q.http.TLS; state != nil && len(state.VerifiedChains) > 0 {
		subject := state.VerifiedChains[0][0].Subject
		if slices.Contains(subject.Organization, Administrators) {
			return Administrators, nil
		}
		return subject.CommonName, nil
	}
	token, given := strings.CutPrefix(q.http.Header.Get("Authorization"), "Bearer ")
	if !given {
		return "system:anonymous", nil
	}
	if account := q.c.accountOf(token, q.c.Host.Now()); account != "" {
		return account, nil
	}
	return "", apiFault(http.StatusUnauthorized, "Unauthorized", "Unauthorized")
}

// authorize knows two roles: cluster-admin may do everything, any other may read.
func (q *request) authorize(user string) error {
	roles := q.c.rolesOf(user)
	reads := q.http.Method == http.MethodGet
	if user == Administrators || slices.Contains(roles, "cluster-admin") || reads && len(roles) > 0 {
		return nil
	}
	return apiFault(http.StatusForbidden, "Forbidden", "forbidden: User %q cannot %s path %q", user, strings.ToLower(q.http.Method), q.http.URL.Path)
}
