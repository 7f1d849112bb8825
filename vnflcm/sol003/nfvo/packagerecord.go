package nfvo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Collections of documents in the Store.
const (
	packagesIn      = "nfvo-package"              // packageRecord, by the id that the NFVO gives the package
	foldersIn       = "nfvo-package-folder"       // the mark of the folder
	subscriptionsIn = "nfvo-package-subscription" // subscriptionRecord
)

// State of a package as the NFVO has reported it last.
type State string

// The states. Only an ENABLED package gets new instances.
const (
	Enabled  State = "ENABLED"
	Disabled State = "DISABLED"
	Deleted  State = "DELETED" // the NFVO does not have the package any more
)

// packageRecord is the stored form of a package.
type packageRecord struct {
	VnfdID string `json:"vnfdId"`
	State  State  `json:"state"`
	// Contents has the content that the NFVO has now as the last item, before it former ones, from which instances may have been made.
	Contents []content `json:"contents,omitempty"`
	Download *download `json:"download,omitempty"` // that runs, or was interrupted
	// Leaving is set before the package leaves the cache. Current clears it.
	Leaving bool `json:"leaving,omitempty"`
}

// content is a content of a package in the cache.
type content struct {
	File     string   `json:"file"`   // below the folder. Each download and each link has another name
	SHA256   string   `json:"sha256"` // hexadecimal
	Size     int64    `json:"size"`
	Checksum checksum `json:"checksum,omitzero"` // that the NFVO announced
	ETag     string   `json:"etag,omitempty"`
	Digest   string   `json:"digest,omitempty"` // tosca.Package.Digest of content that was accepted
}

// download is a file that is being received.
type download struct {
	File     string   `json:"file"` // in downloadsFolder
	Checksum checksum `json:"checksum,omitzero"`
	ETag     string   `json:"etag,omitempty"` // strong; "" until the first answer, and if the answer has none
}

// entry is a package as it was read.
type entry struct {
	packageRecord
	id       string
	document vnflcm.Document
}

// current returns the content that the NFVO has now, as far as the cache knows.
func (p *entry) current() (content, bool) {
	if len(p.Contents) == 0 {
		return content{}, false
	}
	return p.Contents[len(p.Contents)-1], true
}

// add makes content the current one. It replaces the same content in another file, which was lost, so that its instances find the new file.
func (p *entry) add(new content) {
	for _, have := range p.Contents {
		if have.SHA256 == new.SHA256 {
			new.Digest = have.Digest
		}
	}
	p.Contents = append(slices.DeleteFunc(p.Contents, func(have content) bool { return have.SHA256 == new.SHA256 }), new)
	p.Download = nil
}

// size returns the bytes of all contents.
func (p *entry) size() (n int64) {
	for _, each := range p.Contents {
		n += each.Size
	}
	return n
}

// files returns the files of the package, below the folder.
func (p *entry) files() (list []string) {
	for _, each := range p.Contents {
		list = append(list, each.File)
	}
	if p.Download != nil {
		list = append(list, p.Download.path())
	}
	return list
}

// refresh records what the NFVO reports of an enabled package. It refuses another VNFD: by the VNFD the cache finds the instances that keep a
// package there.
func (p *entry) refresh(now packageInfo) error {
	if p.VnfdID != "" && p.VnfdID != now.VnfdID {
		return fmt.Errorf("the NFVO answers with another VNFD of package %s than before", p.id)
	}
	p.VnfdID, p.State, p.Leaving = now.VnfdID, now.state(), false
	return nil
}

// read returns a package, or ErrNotFound.
func (c *PackageCache) read(ctx context.Context, id string) (*entry, error) {
	m, err := c.attached()
	if err != nil {
		return nil, err
	}
	p := &entry{id: id}
	if p.document, err = m.Documents(packagesIn).Get(ctx, id); err != nil {
		return nil, fmt.Errorf("package %s: %w", id, err)
	}
	return p, p.document.Decode(&p.packageRecord)
}

// maxConflicts is how often a change is made again because another writer was faster.
const maxConflicts = 100

// errUnchanged ends a change that is not needed.
var errUnchanged = errors.New("unchanged")

// change reads a package, which is new if the cache does not have it, and writes it as do has changed it. If do changes nothing, or returns
// errUnchanged, nothing is written.
func (c *PackageCache) change(ctx context.Context, id string, do func(*entry) error) (*entry, error) {
	m, err := c.attached()
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		p, err := c.read(ctx, id)
		if errors.Is(err, vnflcm.ErrNotFound) {
			p, err = &entry{id: id}, nil
		}
		if err != nil {
			return nil, err
		}
		before := p.text()
		if err := do(p); errors.Is(err, errUnchanged) || err == nil && p.document.Version > 0 && p.text() == before {
			return p, nil
		} else if err != nil {
			return nil, err
		}
		err = m.Documents(packagesIn).Put(ctx, id, p.document.Version, p.packageRecord)
		if err == nil {
			return c.read(ctx, id)
		}
		if !errors.Is(err, vnflcm.ErrConflict) || tries == maxConflicts {
			return nil, err
		}
	}
}

// changeKnown is change for a package that the cache has; others stay unknown.
func (c *PackageCache) changeKnown(ctx context.Context, id string, do func(*entry) error) (*entry, error) {
	return c.change(ctx, id, func(p *entry) error {
		if p.document.Version == 0 {
			return errUnchanged
		}
		return do(p)
	})
}

// text returns the record, for a comparison.
func (p *entry) text() string {
	text, _ := json.Marshal(p.packageRecord) // strings and numbers
	return string(text)
}

// all returns every package. One that cannot be read ends the list with its error: the cache does not know its files.
func (c *PackageCache) all(ctx context.Context) (list []*entry, err error) {
	m, err := c.attached()
	if err != nil {
		return nil, err
	}
	documents, err := m.Documents(packagesIn).List(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		p := &entry{id: d.ID, document: d}
		if err := d.Decode(&p.packageRecord); err != nil {
			return nil, fmt.Errorf("package %s: %w", d.ID, err)
		}
		list = append(list, p)
	}
	return list, nil
}
