package docker

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/afero"
	"golang.org/x/crypto/bcrypt"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// Registry is what the containers of a machine whose program is the registry need. Any other program ends at once.
type Registry struct {
	Files     afero.Fs // of the machine
	Now       func() time.Time
	Making    *sync.Mutex // held while a directory is made
	Passwords *sync.Map   // those that were right, hashed with what they were compared to
	Contents  *sync.Map   // of containers, by id
}

// Launch runs the program of a container once.
func (r Registry) Launch(k *Container) {
	k.Status, k.ExitCode, k.Error, k.TLS = "running", 0, "", nil
	code := 0
	if k.Registry {
		var said string
		code, said = r.start(k)
		const most = 100
		k.Logs = slices.Concat(k.Logs, strings.Split(said, "\n"))
		k.Logs = k.Logs[max(0, len(k.Logs)-most):]
	}
	if code != 0 || !k.Registry { // any other program has nothing to do
		k.ExitCode = code
		k.Status = map[bool]string{true: "restarting", false: "exited"}[k.Restart == "always"]
	}
}

// start simulates the start of the registry (distribution 2.8, registry/registry.go and
// registry/handlers/app.go). It returns the messages, and the code with which the registry ends, 0 while it serves.
func (r Registry) start(k *Container) (code int, said string) {
	if err := r.startAuth(k); err != nil {
		return 2, fmt.Sprintf("panic: unable to configure authorization (%s): %v\n\n%s", k.Env["REGISTRY_AUTH"], err, trace)
	}
	certificate, key := k.Env["REGISTRY_HTTP_TLS_CERTIFICATE"], k.Env["REGISTRY_HTTP_TLS_KEY"]
	if certificate == "" {
		return 0, r.logged("info", "listening on [::]:%s", k.ListensAt())
	}
	text, err := r.read(k, certificate)
	if err != nil {
		return 1, r.logged("fatal", "%v", err)
	}
	secret, err := r.read(k, key)
	if err != nil {
		return 1, r.logged("fatal", "%v", err)
	}
	pair := pki.Pair{Cert: string(text), Key: string(secret)}
	if _, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key)); err != nil {
		return 1, r.logged("fatal", "%v", err)
	}
	k.TLS = &pair
	return 0, r.logged("info", "listening on [::]:%s, tls", k.ListensAt())
}

// trace follows the message of a registry that panics, so that the last line of the log does not contain the cause.
var trace = "goroutine 1 [running]:\n" + strings.Repeat("github.com/docker/distribution/registry.glob..func1(0x17653c0?, {0xc0002ebf30, 0x1, 0x1})\n\tgithub.com/docker/distribution/registry/registry.go:119 +0x18f\n", 5) +
	"main.main()\n\tgithub.com/docker/distribution/cmd/registry/main.go:22 +0x25"

// startAuth is registry/auth/htpasswd of distribution. Without a file the registry makes one with a user whose password
// only its log knows.
func (r Registry) startAuth(k *Container) error {
	switch scheme := k.Env["REGISTRY_AUTH"]; {
	case scheme == "":
		return nil
	case scheme != "htpasswd":
		return fmt.Errorf("no access controller registered with name: %s", scheme)
	case k.Env["REGISTRY_AUTH_HTPASSWD_REALM"] == "":
		return errors.New(`"realm" must be set for htpasswd access controller`)
	case k.Env["REGISTRY_AUTH_HTPASSWD_PATH"] == "":
		return errors.New(`"path" must be set for htpasswd access controller`)
	}
	name := k.Env["REGISTRY_AUTH_HTPASSWD_PATH"]
	if _, err := r.read(k, name); err == nil {
		return nil
	}
	if _, readOnly, mounted := k.within(name); mounted && readOnly {
		return fmt.Errorf("failed to open htpasswd path open %s: read-only file system", name)
	}
	k.Logs = append(k.Logs, r.logged("warning", "htpasswd is missing, provisioning with default user"))
	return nil
}

// read reads a file as the program of a container does.
func (r Registry) read(k *Container, name string) ([]byte, error) {
	if file, _, mounted := k.within(name); mounted {
		if text, err := afero.ReadFile(r.Files, file); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("open %s: no such file or directory", name)
}

// ListensAt is the port of the registry inside its container.
func (k *Container) ListensAt() string {
	if _, number, err := net.SplitHostPort(k.Env["REGISTRY_HTTP_ADDR"]); err == nil {
		return number
	}
	return "5000" // config.yml of the image
}

// content is the directory of the machine in which the registry stores its data; without a volume, an anonymous one of
// Docker's.
func (k *Container) content() string {
	const inside = "/var/lib/registry"
	if dir, _, mounted := k.within(inside); mounted {
		return dir + "/docker/registry/v2"
	}
	return "/var/lib/docker/volumes/" + k.ID + "/_data/docker/registry/v2"
}

// authorized compares the credentials of a request with the lines of htpasswd, of which the registry takes bcrypt only.
func (r Registry) authorized(k *Container, in *http.Request) bool {
	if k.Env["REGISTRY_AUTH"] == "" {
		return true
	}
	name, password, given := in.BasicAuth()
	file, _, mounted := k.within(k.Env["REGISTRY_AUTH_HTPASSWD_PATH"])
	if !given || !mounted {
		return false
	}
	text, err := afero.ReadFile(r.Files, file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		user, hash, _ := strings.Cut(strings.TrimSpace(line), ":")
		if user == name && r.matches(hash, password) {
			return true
		}
	}
	return false
}

// matches remembers passwords that were right: bcrypt is slow, and clients ask often.
func (r Registry) matches(hash, password string) bool {
	key := sha256.Sum256([]byte(hash + "\x00" + password))
	if _, known := r.Passwords.Load(key); known {
		return true
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil {
		return false
	}
	r.Passwords.Store(key, true)
	return true
}

// logged is a line as the registry logs.
func (r Registry) logged(level, format string, args ...any) string {
	return fmt.Sprintf("time=%q level=%s msg=%q", r.Now().UTC().Format(time.RFC3339Nano), level, fmt.Sprintf(format, args...))
}

// ServeHTTP answers a request to a container that runs.
func (r Registry) ServeHTTP(k *Container, out http.ResponseWriter, in *http.Request) {
	switch {
	case !r.authorized(k, in):
		out.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", k.Env["REGISTRY_AUTH_HTPASSWD_REALM"]))
		http.Error(out, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
	case in.Method == http.MethodDelete && k.Env["REGISTRY_STORAGE_DELETE_ENABLED"] != "true":
		out.WriteHeader(http.StatusMethodNotAllowed)
	default:
		r.contentOf(k).ServeHTTP(out, in)
	}
}

// contentOf returns the content of a container, which it reads once: uploads take several requests.
func (r Registry) contentOf(k *Container) *content {
	if c, known := r.Contents.Load(k.ID); known {
		return c.(*content)
	}
	c, _ := r.Contents.LoadOrStore(k.ID, newContent(r.Files, r.Making, k.content()))
	return c.(*content)
}
