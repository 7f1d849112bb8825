package glance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
)

// Client sends requests to Glance for one project. It is safe for concurrent use.
type Client struct {
	clients *access.Clients
	api     *gophercloud.ServiceClient
}

// New returns a client, or access.ErrEndpoint if the VIM has no Glance.
func New(clients *access.Clients) (*Client, error) {
	api, err := clients.Glance()
	if err != nil {
		return nil, err
	}
	return &Client{clients: clients, api: api}, nil
}

// Tags and properties that mark the images of this driver.
const (
	ownTag = "vnfkit"
	// digestProperty holds the SHA-512 of the content. Glance shows the digest that it computes only after an upload.
	digestProperty = "vnfkit_sha512"
	// retiredProperty is set before an image is deleted, so that no other instance begins to use the image.
	retiredProperty = "vnfkit_retired"
	// userPrefix is the prefix of tags with the ids of the instances that use an image.
	userPrefix = "vnf-"
)

// UserTag returns the tag that an instance sets on the images that it uses.
func UserTag(instanceID string) string { return userPrefix + instanceID }

// Spec holds the content and the attributes of an image. Images with equal Specs are interchangeable.
type Spec struct {
	Digest          string `json:"vnfkit_sha512"` // SHA-512 of the content, hexadecimal
	DiskFormat      string `json:"disk_format"`
	ContainerFormat string `json:"container_format"`
	MinDisk         int64  `json:"min_disk"` // GiB
	MinRAM          int64  `json:"min_ram"`  // MiB
}

// Image is an image as Glance shows it.
type Image struct {
	Spec
	ID      string   `json:"id"`
	Status  string   `json:"status"`
	Owner   string   `json:"owner"`
	Tags    []string `json:"tags"`
	Size    int64    `json:"size"`
	Retired string   `json:"vnfkit_retired"`
	// Algorithm and Hash are the digest that Glance has computed of the content, by default with sha512.
	Algorithm string `json:"os_hash_algo"`
	Hash      string `json:"os_hash_value"`
}

// Holds reports whether the image is complete: Glance has all bytes of the content, with the digest of s. An interrupted
// upload can leave an active image with a part of the content.
func (i *Image) Holds(s Spec, size int64) bool {
	return i.Spec == s && i.Status == "active" && i.Size == size && (i.Algorithm != "sha512" || strings.EqualFold(i.Hash, s.Digest))
}

// usedBesides reports whether an instance with another tag uses the image.
func (i *Image) usedBesides(tag string) bool {
	return slices.ContainsFunc(i.Tags, func(t string) bool { return t != tag && strings.HasPrefix(t, userPrefix) })
}

// Users returns the ids of the instances that use the image.
func (i *Image) Users() (ids []string) {
	for _, t := range i.Tags {
		if id, is := strings.CutPrefix(t, userPrefix); is {
			ids = append(ids, id)
		}
	}
	return ids
}

// call sends one request. doing names the purpose of the request in errors.
func (c *Client) call(ctx context.Context, doing, method, to string, options gophercloud.RequestOpts) error {
	options.OkCodes = []int{http.StatusOK, http.StatusCreated, http.StatusNoContent}
	if _, err := c.api.Request(ctx, method, to, &options); err != nil { //nolint:bodyclose // gophercloud closes it
		return fmt.Errorf("%s: %w", doing, c.clients.Explain(err))
	}
	return nil
}

// Formats returns the disk formats and container formats that Glance accepts.
func (c *Client) Formats(ctx context.Context) (disk, container []string, err error) {
	var schema struct {
		Properties struct {
			Disk      struct{ Enum []*string } `json:"disk_format"`
			Container struct{ Enum []*string } `json:"container_format"`
		} `json:"properties"`
	}
	err = c.call(ctx, "read the schema of images", http.MethodGet, c.api.ServiceURL("schemas", "image"), gophercloud.RequestOpts{JSONResponse: &schema})
	return named(schema.Properties.Disk.Enum), named(schema.Properties.Container.Enum), err
}

// named returns the names of a list without null, which stands for an image without a format.
func named(list []*string) []string {
	var out []string
	for _, name := range list {
		if name != nil {
			out = append(out, *name)
		}
	}
	return out
}

// atOnce is how many images one request lists at most.
const atOnce = 100

// find lists the images of this driver that match the query, at most atOnce.
func (c *Client) find(ctx context.Context, with url.Values) ([]Image, error) {
	list, _, err := c.page(ctx, with)
	return list, err
}

// page is find, and returns the id of the last image of a full page, of which Glance has perhaps more.
func (c *Client) page(ctx context.Context, with url.Values) (list []Image, last string, err error) {
	query := maps.Clone(with)
	query.Add("tag", ownTag)
	query.Set("owner", c.clients.Project)
	query.Set("limit", strconv.Itoa(atOnce))
	var body struct{ Images []Image }
	err = c.call(ctx, "list images", http.MethodGet, c.api.ServiceURL("images")+"?"+query.Encode(), gophercloud.RequestOpts{JSONResponse: &body})
	if len(body.Images) == atOnce {
		last = body.Images[atOnce-1].ID
	}
	return slices.DeleteFunc(body.Images, func(i Image) bool { return !c.own(&i) }), last, err
}

// own reports whether this driver has created the image in this project.
func (c *Client) own(i *Image) bool {
	return i.Owner == c.clients.Project && slices.Contains(i.Tags, ownTag)
}

// Of lists the images that an instance uses: at most 100.
func (c *Client) Of(ctx context.Context, tag string) ([]Image, error) {
	return c.find(ctx, url.Values{"tag": {tag}})
}

// maxImages is more than a project has; a hostile Glance could list images without end.
const maxImages = 100_000

var errEndless = errors.New("glance lists more images than a project can have")

// All lists all images of this driver in the project.
func (c *Client) All(ctx context.Context) (all []Image, err error) {
	for query := (url.Values{}); ; {
		page, last, err := c.page(ctx, query)
		all = append(all, page...)
		if err != nil || last == "" {
			return all, err
		}
		if len(all) > maxImages {
			return nil, errEndless
		}
		query.Set("marker", last)
	}
}

// With lists the images with the digest of a content: at most 100.
func (c *Client) With(ctx context.Context, digest string) ([]Image, error) {
	return c.find(ctx, url.Values{digestProperty: {digest}})
}

// Get returns the current state of an image, or nil if it does not exist or does not have the driver's tag.
func (c *Client) Get(ctx context.Context, id string) (*Image, error) {
	var i Image
	err := c.call(ctx, "look at image "+id, http.MethodGet, c.api.ServiceURL("images", id), gophercloud.RequestOpts{JSONResponse: &i})
	if gone(err) || err == nil && !c.own(&i) {
		return nil, nil
	}
	return &i, err
}

// Create creates an image without content, with the tag of an instance, and returns its id.
func (c *Client) Create(ctx context.Context, name, tag string, s Spec) (string, error) {
	var made Image
	err := c.call(ctx, "create image "+name, http.MethodPost, c.api.ServiceURL("images"), gophercloud.RequestOpts{JSONResponse: &made, JSONBody: map[string]any{
		"name": name, "visibility": "private", "tags": []string{ownTag, tag}, digestProperty: s.Digest, "disk_format": s.DiskFormat,
		"container_format": s.ContainerFormat, "min_disk": s.MinDisk, "min_ram": s.MinRAM}})
	return made.ID, err
}

// Upload sends the content of an image. open is called for each attempt.
func (c *Client) Upload(ctx context.Context, id string, size int64, open func() (io.ReadCloser, error)) error {
	if err := c.clients.Upload(ctx, c.api, c.api.ServiceURL("images", id, "file"), size, open); err != nil {
		return fmt.Errorf("upload image %s: %w", id, err)
	}
	return nil
}

// Delete deletes an image. A missing image is no error.
func (c *Client) Delete(ctx context.Context, id string) error {
	err := c.call(ctx, "delete image "+id, http.MethodDelete, c.api.ServiceURL("images", id), gophercloud.RequestOpts{})
	if gone(err) {
		return nil
	}
	return err
}

// Claim adds the tag of an instance to an existing image. It returns false if the instance cannot use the image: the image
// is about to be deleted, or it has as many tags as Glance allows.
func (c *Client) Claim(ctx context.Context, id, tag string) (bool, error) {
	err := c.call(ctx, "tag image "+id, http.MethodPut, c.api.ServiceURL("images", id, "tags", tag), gophercloud.RequestOpts{})
	if gone(err) || gophercloud.ResponseCodeIs(err, http.StatusRequestEntityTooLarge) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Claim adds the tag and then reads the property; remove sets the property and then reads the tags. So one of the two
	// always sees the change of the other.
	now, err := c.Get(ctx, id)
	if err != nil || now == nil {
		return false, err
	}
	if now.Retired != "" {
		return false, c.Release(ctx, id, tag)
	}
	return true, nil
}

// Release ends the use of an image by an instance, and deletes the image if no other instance uses it. An image to be
// deleted keeps the tag, so that Of still lists the image if the process dies before the deletion.
func (c *Client) Release(ctx context.Context, id, tag string) error {
	now, err := c.Get(ctx, id)
	if err != nil || now == nil {
		return err
	}
	if !now.usedBesides(tag) {
		return c.remove(ctx, id, tag)
	}
	err = c.call(ctx, "take a tag from image "+id, http.MethodDelete, c.api.ServiceURL("images", id, "tags", tag), gophercloud.RequestOpts{})
	if err != nil && !gone(err) {
		return err
	}
	// The other instance may have ended its use meanwhile and left the image, because it saw this instance's tag.
	if now, err = c.Get(ctx, id); err != nil || now == nil || now.usedBesides(tag) {
		return err
	}
	return c.remove(ctx, id, tag)
}

// remove deletes an image that only the instance with the tag uses. If another instance claims the image meanwhile, remove
// keeps the image and removes the tag.
func (c *Client) remove(ctx context.Context, id, tag string) error {
	if err := c.retire(ctx, id); err != nil {
		return err
	}
	now, err := c.Get(ctx, id)
	if err != nil || now == nil {
		return err
	}
	if now.usedBesides(tag) {
		return c.Release(ctx, id, tag)
	}
	return c.Delete(ctx, id)
}

func (c *Client) retire(ctx context.Context, id string) error {
	err := c.call(ctx, "mark image "+id, http.MethodPatch, c.api.ServiceURL("images", id), gophercloud.RequestOpts{
		JSONBody:    []any{map[string]string{"op": "add", "path": "/" + retiredProperty, "value": "true"}},
		MoreHeaders: map[string]string{"Content-Type": "application/openstack-images-v2.1-json-patch"}})
	if gone(err) {
		return nil
	}
	return err
}

// gone reports whether the answer was 404: the image does not exist (any more).
func gone(err error) bool { return gophercloud.ResponseCodeIs(err, http.StatusNotFound) }

// Protected reports whether Glance refuses to delete an image because it is protected.
func Protected(err error) bool { return gophercloud.ResponseCodeIs(err, http.StatusForbidden) }
