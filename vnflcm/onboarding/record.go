package onboarding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Collections of documents in the Store.
const (
	packagesIn = "vnf-package"         // packageRecord, by package
	contentsIn = "vnf-package-content" // contentRecord, by SHA-256
	vnfdsIn    = "vnf-package-vnfd"    // vnfdRecord, by vnfdKey: the ONBOARDED package of a tenant with a VNFD
	ownersIn   = "vnf-package-owner"   // ownerRecord, by ownerKey
	worksIn    = "vnf-package-work"    // workRecord, by package: packages that are UPLOADING or PROCESSING
	foldersIn  = "vnf-package-folder"  // the mark of the folder
)

// packageRecord is the stored form of a package.
type packageRecord struct {
	Info   VnfPkgInfo `json:"info"`
	Tenant string     `json:"tenant,omitempty"`
	// Attempt identifies the upload of a package that is UPLOADING. Its file has that name.
	Attempt string   `json:"attempt,omitempty"`
	Source  *Address `json:"source,omitempty"` // of a package that is UPLOADING from a URI
	// Begun is how often the fetch or the check of the package has begun.
	Begun   int    `json:"begun,omitempty"`
	Content string `json:"content,omitempty"` // SHA-256 of a package that is PROCESSING or ONBOARDED
	Size    int64  `json:"size,omitempty"`
	Digest  string `json:"digest,omitempty"` // csar.Archive.Digest of a package that is ONBOARDED
}

// contentRecord is content that packages have.
type contentRecord struct {
	// File is the path below the folder. Content that is stored again after its removal gets another name, so that a late removal of the
	// former file cannot hit it.
	File     string   `json:"file"`
	Size     int64    `json:"size"`
	Packages []string `json:"packages"`
}

type vnfdRecord struct {
	Package string `json:"package"`
}

// ownerRecord has the ids of the packages of a tenant, or of the shared ones.
type ownerRecord struct {
	Packages []string `json:"packages"`
}

type workRecord struct{}

// ownerKey is the id of an ownerRecord.
func ownerKey(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return hex.EncodeToString(sum[:])
}

// vnfdKey is the id of a vnfdRecord.
func vnfdKey(tenant, vnfdID string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(tenant), tenant, vnfdID))
	return hex.EncodeToString(sum[:])
}

// entry is a package as it was read.
type entry struct {
	packageRecord
	id       string
	version  int64
	document vnflcm.Document
	removed  bool // the next write removes it
	// change is what the next write adds to the feed; "" for nothing.
	change vnflcm.ChangeKind
}

// changes returns what the next write adds to the feed, nil for nothing.
func (p *entry) changes() *vnflcm.PackageChange {
	if p.change == "" {
		return nil
	}
	return &vnflcm.PackageChange{Kind: p.change,
		VNF: vnflcm.VNFIdentity{VnfdID: p.Info.VnfdID, VnfProvider: p.Info.VnfProvider, VnfProductName: p.Info.VnfProductName,
			VnfSoftwareVersion: p.Info.VnfSoftwareVersion, VnfdVersion: p.Info.VnfdVersion, Tenant: p.Tenant},
		Package: vnflcm.ChangedPackage{ID: p.id, OperationalState: string(p.Info.OperationalState), VnfmInfo: p.Info.VnfmInfo}}
}

// written returns the write that replaces the package as it was read.
func (p *entry) written() vnflcm.DocumentWrite {
	w := vnflcm.DocumentWrite{Collection: packagesIn, ID: p.id, Version: p.version}
	if !p.removed {
		w.Value = p.packageRecord
	}
	return w
}

// show returns the description of the package.
func (p *entry) show(usage UsageState) *VnfPkgInfo {
	info := p.Info
	info.ID, info.Tenant, info.Size, info.UsageState, info.Version = p.id, p.Tenant, p.Size, usage, strconv.FormatInt(p.version, 10)
	return &info
}

func (p *entry) visibleTo(tenant string) bool {
	return tenant == "" || p.Tenant == "" || p.Tenant == tenant
}

// writableBy returns ErrNotFound for a package that does not exist for the tenant, and ErrShared for a shared one.
func (p *entry) writableBy(tenant string) error {
	switch {
	case !p.visibleTo(tenant):
		return notFound(p.id)
	case tenant != p.Tenant && tenant != "":
		return ErrShared
	}
	return nil
}

func notFound(id string) error { return fmt.Errorf("package %s: %w", id, vnflcm.ErrNotFound) }

// maxData is the size of userDefinedData in JSON, in bytes.
const maxData = 64 << 10

func checkData(data vnflcm.KeyValuePairs) error {
	text, err := json.Marshal(data)
	if err == nil && len(text) > maxData {
		err = fmt.Errorf("has %d bytes of JSON, at most %d are stored", len(text), maxData)
	}
	if err != nil {
		return &vnflcm.ParamError{Path: "userDefinedData", Reason: err.Error()}
	}
	return nil
}

// merge changes the userDefinedData.
func (p *entry) merge(data vnflcm.KeyValuePairs) error {
	if len(data) == 0 {
		return nil
	}
	present, err := vnflcm.NewParams(p.Info.UserDefinedData)
	patch, patchErr := vnflcm.NewParams(data)
	if err = errors.Join(err, patchErr); err == nil {
		present, err = present.Merge(patch)
	}
	if err == nil {
		err = json.Unmarshal(present.Reveal(), &p.Info.UserDefinedData)
	}
	if err != nil {
		return &vnflcm.ParamError{Path: "userDefinedData", Reason: err.Error()}
	}
	return checkData(p.Info.UserDefinedData)
}

// document reads a document into a value. A missing one has the version 0.
func (r *Repository) document(ctx context.Context, collection, id string, into any) (vnflcm.Document, error) {
	m, err := r.attached()
	if err != nil {
		return vnflcm.Document{}, err
	}
	d, err := m.Documents(collection).Get(ctx, id)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return vnflcm.Document{}, nil
	}
	if err != nil {
		return d, err
	}
	return d, d.Decode(into)
}

// read returns a package, or ErrNotFound.
func (r *Repository) read(ctx context.Context, id string) (*entry, error) {
	p := &entry{id: id}
	var err error
	if p.document, err = r.document(ctx, packagesIn, id, &p.packageRecord); err != nil {
		return nil, err
	}
	if p.version = p.document.Version; p.version == 0 {
		return nil, notFound(id)
	}
	return p, nil
}

// visible returns a package that exists for the tenant.
func (r *Repository) visible(ctx context.Context, tenant, id string) (*entry, error) {
	p, err := r.read(ctx, id)
	if err == nil && !p.visibleTo(tenant) {
		err = notFound(id)
	}
	return p, err
}

// pageSize is how many documents are read at once. A package with many files has a document of up to 4 MiB.
const pageSize = 20

// errEnough ends each.
var errEnough = errors.New("enough")

// each calls do with every package after an id, or with the error of reading it, until do returns an error.
func (r *Repository) each(ctx context.Context, after string, do func(*entry, error) error) error {
	m, err := r.attached()
	if err != nil {
		return err
	}
	for {
		list, err := m.Documents(packagesIn).List(ctx, after, pageSize)
		if err != nil {
			return err
		}
		for _, d := range list {
			p := &entry{id: d.ID, version: d.Version, document: d}
			if err := do(p, d.Decode(&p.packageRecord)); errors.Is(err, errEnough) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if len(list) < pageSize {
			return nil
		}
		after = list[len(list)-1].ID
	}
}

// eachVisible calls do as each does, with the packages that a tenant may use. Packages of other tenants are not read.
func (r *Repository) eachVisible(ctx context.Context, tenant, after string, do func(*entry, error) error) error {
	if tenant == "" {
		return r.each(ctx, after, do)
	}
	var ids []string
	for _, each := range []string{tenant, ""} {
		var owner ownerRecord
		if _, err := r.document(ctx, ownersIn, ownerKey(each), &owner); err != nil {
			return err
		}
		ids = append(ids, owner.Packages...)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if id <= after {
			continue
		}
		p, err := r.read(ctx, id)
		if errors.Is(err, vnflcm.ErrNotFound) { // it was deleted meanwhile
			continue
		}
		if err := do(p, err); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// write writes a package with further documents, all or none.
func (r *Repository) write(ctx context.Context, p *entry, further ...vnflcm.DocumentWrite) error {
	m, err := r.attached()
	if err == nil {
		err = m.WriteDocuments(ctx, p.changes(), append(further, p.written())...)
	}
	if err == nil {
		p.version++
	}
	return err
}

// maxConflicts is how often a change is made again because another writer was faster.
const maxConflicts = 100

// change reads a package, and writes it as do has changed it together with the writes that do returns.
func (r *Repository) change(ctx context.Context, id string, do func(*entry) ([]vnflcm.DocumentWrite, error)) (*entry, error) {
	for tries := 0; ; tries++ {
		p, err := r.read(ctx, id)
		if err != nil {
			return nil, err
		}
		further, err := do(p)
		if err != nil {
			return nil, err
		}
		err = r.write(ctx, p, further...)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, vnflcm.ErrConflict) || tries == maxConflicts {
			return nil, err
		}
	}
}

// drop returns the write that removes a document; none if it is missing.
func (r *Repository) drop(ctx context.Context, collection, id string) ([]vnflcm.DocumentWrite, error) {
	var any any
	d, err := r.document(ctx, collection, id, &any)
	if err != nil || d.Version == 0 {
		return nil, err
	}
	return []vnflcm.DocumentWrite{{Collection: collection, ID: id, Version: d.Version}}, nil
}

// count returns the write that adds a new package to those of its tenant.
func (r *Repository) count(ctx context.Context, p *entry) (vnflcm.DocumentWrite, error) {
	var owner ownerRecord
	d, err := r.document(ctx, ownersIn, ownerKey(p.Tenant), &owner)
	if err == nil && len(owner.Packages) >= r.MaxPackages {
		err = r.keepPresent(ctx, &owner)
	}
	if err == nil && len(owner.Packages) >= r.MaxPackages {
		err = fmt.Errorf("%w: there are %d packages: delete some first", vnflcm.ErrState, len(owner.Packages))
	}
	owner.Packages = append(owner.Packages, p.id)
	return vnflcm.DocumentWrite{Collection: ownersIn, ID: ownerKey(p.Tenant), Version: d.Version, Value: owner}, err
}

// keepPresent removes the ids of packages whose damaged record an operator has removed.
func (r *Repository) keepPresent(ctx context.Context, owner *ownerRecord) error {
	m, err := r.attached()
	if err != nil {
		return err
	}
	var present []string
	for _, id := range owner.Packages {
		_, err := m.Documents(packagesIn).Get(ctx, id)
		if err == nil {
			present = append(present, id)
		} else if !errors.Is(err, vnflcm.ErrNotFound) {
			return err
		}
	}
	owner.Packages = present
	return nil
}

// uncounted returns the write that removes a package from those of its tenant.
func (r *Repository) uncounted(ctx context.Context, p *entry) ([]vnflcm.DocumentWrite, error) {
	var owner ownerRecord
	d, err := r.document(ctx, ownersIn, ownerKey(p.Tenant), &owner)
	if err != nil || d.Version == 0 {
		return nil, err
	}
	w := vnflcm.DocumentWrite{Collection: ownersIn, ID: ownerKey(p.Tenant), Version: d.Version}
	owner.Packages = slices.DeleteFunc(owner.Packages, func(id string) bool { return id == p.id })
	if len(owner.Packages) > 0 {
		w.Value = owner
	}
	return []vnflcm.DocumentWrite{w}, nil
}

// forget returns the writes that remove what belongs to a package. unused is set to the file that no package has then.
func (r *Repository) forget(ctx context.Context, p *entry, unused *string) ([]vnflcm.DocumentWrite, error) {
	*unused = ""
	writes, err := r.drop(ctx, worksIn, p.id)
	if err != nil {
		return nil, err
	}
	if p.Info.OnboardingState == Onboarded {
		vnfd, err := r.drop(ctx, vnfdsIn, vnfdKey(p.Tenant, p.Info.VnfdID))
		if err != nil {
			return nil, err
		}
		writes = append(writes, vnfd...)
	}
	if p.Content == "" {
		return writes, nil
	}
	var c contentRecord
	d, err := r.document(ctx, contentsIn, p.Content, &c)
	if err != nil || d.Version == 0 {
		return writes, err
	}
	w := vnflcm.DocumentWrite{Collection: contentsIn, ID: p.Content, Version: d.Version}
	c.Packages = slices.DeleteFunc(c.Packages, func(id string) bool { return id == p.id })
	if len(c.Packages) > 0 {
		w.Value = c
	} else {
		*unused = c.File
	}
	return append(writes, w), nil
}
