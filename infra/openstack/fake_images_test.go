package openstack_test

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fakeImages are the images of the fake, by id.
type fakeImages map[string]*fakeImage

// fakeImage is an image with the attributes of Glance 25.
type fakeImage struct {
	shown   map[string]any
	content []byte
}

func (i *fakeImage) tags() []string {
	var out []string
	for _, t := range i.shown["tags"].([]any) {
		out = append(out, t.(string))
	}
	return out
}

// most is the maximum number of tags of an image.
const most = 4

// cut is a fault of an upload: Glance receives half of the content and sets this status of the image.
type cut string

// serveImages answers a request of Glance.
func (f *fake) serveImages(w http.ResponseWriter, r *http.Request, fault int) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/glance/v2/"), "/")
	status, answer := http.StatusNotFound, any(nil)
	switch image := f.images[path[min(1, len(path)-1)]]; {
	case path[0] == "schemas":
		status, answer = http.StatusOK, map[string]any{"properties": map[string]any{
			"disk_format":      map[string]any{"enum": []any{nil, "raw", "qcow2"}},
			"container_format": map[string]any{"enum": []any{nil, "bare"}}}}
	case len(path) == 1 && r.Method == http.MethodPost:
		status, answer = http.StatusCreated, f.createImage(r.Body)
	case len(path) == 1:
		status, answer = http.StatusOK, map[string]any{"images": f.images.list(r.URL.Query())}
	case image == nil:
	case len(path) == 2:
		status, answer = f.images.one(image, r)
	case path[2] == "file":
		status = f.upload(image, r.Body)
	default:
		status = image.tag(path[3], r.Method)
	}
	if fault == -2 || status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func (f *fake) createImage(body io.Reader) any {
	shown := map[string]any{}
	if err := json.NewDecoder(body).Decode(&shown); err != nil {
		f.t.Error(err)
	}
	shown["id"], shown["status"], shown["owner"] = f.id(), "queued", "p"
	f.images[shown["id"].(string)] = &fakeImage{shown: shown}
	return shown
}

// add creates an image that does not belong to the driver.
func (f *fake) add(name string, shown map[string]any) {
	all := map[string]any{"id": f.id(), "name": name, "status": "active", "owner": "p", "tags": []any{}}
	maps.Copy(all, shown)
	f.images[all["id"].(string)] = &fakeImage{shown: all}
}

func (f fakeImages) list(q url.Values) []any {
	out := []any{}
	limit, _ := strconv.Atoi(q.Get("limit"))
	for _, id := range slices.Sorted(maps.Keys(f)) {
		i := f[id]
		fits := !slices.ContainsFunc(q["tag"], func(t string) bool { return !slices.Contains(i.tags(), t) })
		for _, property := range []string{"owner", "vnfkit_sha512"} {
			fits = fits && (q.Get(property) == "" || q.Get(property) == i.shown[property])
		}
		if fits && id > q.Get("marker") && (limit == 0 || len(out) < limit) {
			out = append(out, i.shown)
		}
	}
	return out
}

func (f fakeImages) one(i *fakeImage, r *http.Request) (int, any) {
	switch r.Method {
	case http.MethodDelete:
		if i.shown["protected"] == true {
			return http.StatusForbidden, nil
		}
		delete(f, i.shown["id"].(string))
		return http.StatusNoContent, nil
	case http.MethodPatch:
		var patch []struct{ Op, Path, Value string }
		if json.NewDecoder(r.Body).Decode(&patch) != nil || r.Header.Get("Content-Type") != "application/openstack-images-v2.1-json-patch" {
			return http.StatusBadRequest, nil
		}
		i.shown[patch[0].Path[1:]] = patch[0].Value
	}
	return http.StatusOK, i.shown
}

// upload reads the content like Glance and returns the status of the answer, 0 for no answer.
func (f *fake) upload(i *fakeImage, body io.Reader) int {
	if i.shown["status"] != "queued" {
		return http.StatusConflict
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return 0
	}
	i.shown["status"] = "active"
	if f.cut != "" {
		content, i.shown["status"] = content[:len(content)/2], string(f.cut)
	}
	sum := sha512.Sum512(content)
	i.content, i.shown["size"], i.shown["os_hash_algo"], i.shown["os_hash_value"] = content, len(content), "sha512", hex.EncodeToString(sum[:])
	if f.cut != "" {
		f.cut = ""
		return 0
	}
	return http.StatusNoContent
}

func (i *fakeImage) tag(name, method string) int {
	tags := slices.DeleteFunc(i.tags(), func(t string) bool { return t == name })
	if method == http.MethodDelete && len(tags) == len(i.tags()) {
		return http.StatusNotFound
	}
	if method == http.MethodPut {
		if tags = append(tags, name); len(tags) > most {
			return http.StatusRequestEntityTooLarge
		}
	}
	list := []any{}
	for _, t := range tags {
		list = append(list, t)
	}
	i.shown["tags"] = list
	return http.StatusNoContent
}
