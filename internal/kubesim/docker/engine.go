package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// Engine is what Docker Engine has on a machine.
type Engine struct {
	Images     []Image      `json:"images,omitempty"`
	Containers []*Container `json:"containers,omitempty"`
}

// Image is an image of Docker Engine.
type Image struct {
	ID       string   `json:"id"`                 // sha256:... of its configuration
	Names    []string `json:"names,omitempty"`    // with tags
	Registry bool     `json:"registry,omitempty"` // its program is the registry
}

// ImageNamed is an image of which only the name is known.
func ImageNamed(name string) Image {
	sum := sha256.Sum256([]byte(name))
	repository, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	return Image{ID: "sha256:" + hex.EncodeToString(sum[:]), Registry: repository == "registry"}
}

// Container is a container of Docker Engine.
type Container struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Image    string            `json:"image"` // id
	Registry bool              `json:"registry,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Ports    map[string]string `json:"ports,omitempty"` // ports of the machine, and their ports in the container
	Volumes  []Bind            `json:"volumes,omitempty"`
	Restart  string            `json:"restart"`
	Status   string            `json:"status"` // created, running, restarting, exited
	ExitCode int               `json:"exitCode,omitempty"`
	Error    string            `json:"error,omitempty"`
	Restarts int               `json:"restarts,omitempty"`
	Logs     []string          `json:"logs,omitempty"`
	TLS      *pki.Pair         `json:"tls,omitempty"` // read at its start
}

// Bind is a directory of the machine that a container sees.
type Bind struct {
	From     string `json:"from"`
	To       string `json:"to"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Add stores an image and gives it the name, which another image may have had.
func (e *Engine) Add(id, name string, registry bool) {
	for i := range e.Images {
		if old := &e.Images[i]; old.ID != id && name != "" && slices.Contains(old.Names, name) {
			old.Names = slices.DeleteFunc(old.Names, func(n string) bool { return n == name })
		}
	}
	i := slices.IndexFunc(e.Images, func(known Image) bool { return known.ID == id })
	if i < 0 {
		e.Images = append(e.Images, Image{ID: id, Registry: registry})
		i = len(e.Images) - 1
	}
	if name != "" && !slices.Contains(e.Images[i].Names, name) {
		e.Images[i].Names = append(e.Images[i].Names, name)
	}
}

// Image finds an image by its id or by a name.
func (e *Engine) Image(ref string) *Image {
	for i, known := range e.Images {
		if known.ID == ref || slices.Contains(known.Names, Tagged(ref)) {
			return &e.Images[i]
		}
	}
	return nil
}

// Container finds a container by its id or by its name.
func (e *Engine) Container(ref string) *Container {
	for _, known := range e.Containers {
		if known.ID == ref || known.Name == ref {
			return known
		}
	}
	return nil
}

// Tagged is the name of an image with its tag.
func Tagged(image string) string {
	if _, last, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":"); last == "" && !strings.Contains(image, "@") {
		return image + ":latest"
	}
	return image
}

// Inspected returns the fields that a driver reads (Docker Engine API, ContainerInspect).
func (k *Container) Inspected() map[string]any {
	env := []string{}
	for _, name := range slices.Sorted(maps.Keys(k.Env)) {
		env = append(env, name+"="+k.Env[name])
	}
	labels := k.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	running := k.Status == "running" || k.Status == "restarting"
	return map[string]any{"Id": k.ID, "Name": "/" + k.Name, "Image": k.Image, "RestartCount": k.Restarts,
		"State": map[string]any{"Status": k.Status, "Running": running, "Paused": false, "Restarting": k.Status == "restarting",
			"OOMKilled": false, "Dead": false, "ExitCode": k.ExitCode, "Error": k.Error},
		"Config":     map[string]any{"Image": k.Image, "Labels": labels, "Env": env},
		"HostConfig": map[string]any{"RestartPolicy": map[string]any{"Name": k.Restart, "MaximumRetryCount": 0}}}
}

// Stop ends what runs, as a signal does.
func (k *Container) Stop() {
	if k.Status == "running" || k.Status == "restarting" {
		k.Status, k.ExitCode = "exited", 2
	}
}

// within is the file of the machine that a container sees under a name.
func (k *Container) within(name string) (file string, readOnly, mounted bool) {
	for _, v := range k.Volumes {
		if rest, ok := strings.CutPrefix(path.Clean(name), v.To); ok && (rest == "" || rest[0] == '/') {
			return path.Join(v.From, rest), v.ReadOnly, true
		}
	}
	return "", false, false
}

// IsRegistry reports whether the program of an image is the registry of distribution, by its configuration
// (OCI image specification, config.md).
func IsRegistry(config []byte) bool {
	var f struct {
		Config struct{ Entrypoint, Cmd []string } `json:"config"`
	}
	if err := json.Unmarshal(config, &f); err != nil {
		return false
	}
	words := strings.Join(slices.Concat(f.Config.Entrypoint, f.Config.Cmd), " ")
	return strings.Contains(words, "registry") || strings.Contains(words, "/etc/distribution/")
}
