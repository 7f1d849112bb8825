package sol003

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
)

const (
	mediaText   = "text/plain"
	mediaZip    = "application/zip"
	mediaBinary = "application/octet-stream"

	metaFile = "TOSCA-Metadata/TOSCA.meta"
)

// includeSignatures is the flag that adds signatures and certificates to an answer (SOL003 v3.3.1 10.4.4.3.2).
const includeSignatures = "include_signatures"

// readVnfd answers SOL003 v2.6.1 10.4.4.3.2: the VNFD as a file if it is one, or as an archive.
func (c *call) readVnfd() error {
	query, err := c.flags(includeSignatures)
	if err != nil {
		return err
	}
	return c.withPackage(func(p openPackage) error {
		names := p.VNFDFiles()
		signed := has(query, includeSignatures)
		asText := accepts(c.accept(), mediaText) && len(names) == 1 && !signed
		switch {
		case asText:
			return c.sendFile(p, names[0], mediaText)
		case accepts(c.accept(), mediaZip):
			if p.Has(metaFile) {
				names = append(names, metaFile)
			}
			if signed {
				names = withSignatures(p.Package, names)
			}
			return c.sendArchive(p, "vnfd.zip", names)
		case accepts(c.accept(), mediaText):
			return &statusError{status: http.StatusNotAcceptable, detail: "the VNFD consists of several files: accept " + mediaZip}
		}
		return notAcceptable(mediaText, mediaZip)
	})
}

// readManifest answers SOL003 v3.3.1 10.4.4a.3.2.
func (c *call) readManifest() error {
	query, err := c.flags(includeSignatures)
	if err != nil {
		return err
	}
	return c.withPackage(func(p openPackage) error {
		manifest := p.Manifest()
		if manifest == nil {
			return &statusError{status: http.StatusNotFound, detail: "the VNF package has no manifest"}
		}
		certificate := p.Meta().Entries["certificate"]
		switch {
		case has(query, includeSignatures) && certificate != "" && p.Has(certificate): // the certificate is no part of the manifest
			if !accepts(c.accept(), mediaZip) {
				return notAcceptable(mediaZip)
			}
			return c.sendArchive(p, "manifest.zip", []string{manifest.File, certificate})
		case !accepts(c.accept(), mediaText):
			return notAcceptable(mediaText)
		}
		return c.sendFile(p, manifest.File, mediaText)
	})
}

// The parameters that select artifacts (SOL003 v3.3.1 10.4.5a.3.2).
const (
	includeExternal = "include_external_artifacts"
	excludeMANO     = "exclude_all_mano_artifacts"
	excludeNonMANO  = "exclude_all_non_mano_artifacts"
	selectNonMANO   = "select_non_mano_artifact_sets"
)

// readArtifacts answers SOL003 v3.3.1 10.4.5a.3.2: an archive of the artifacts that are no software images. Ranges of it are not served.
func (c *call) readArtifacts() error {
	query, err := c.flags(includeSignatures, includeExternal, excludeMANO, excludeNonMANO, selectNonMANO)
	if err != nil {
		return err
	}
	sets, selects := query[selectNonMANO]
	_, excludes := query[excludeNonMANO]
	switch {
	case has(query, includeExternal):
		return &statusError{status: http.StatusNotImplemented, detail: includeExternal + ": artifacts outside of the package are not fetched"}
	case excludes && selects:
		return badRequest(excludeNonMANO + " and " + selectNonMANO + " exclude each other")
	case !accepts(c.accept(), mediaZip):
		return notAcceptable(mediaZip)
	}
	return c.withPackage(func(p openPackage) error {
		all, wanted := nonMANOFiles(p.Package, nil), nonMANOFiles(p.Package, strings.Split(sets, ","))
		names := slices.DeleteFunc(p.additionalArtifacts(), func(name string) bool {
			if !slices.Contains(all, name) {
				return has(query, excludeMANO)
			}
			return excludes || selects && !slices.Contains(wanted, name)
		})
		if has(query, includeSignatures) {
			names = withSignatures(p.Package, names)
		}
		return c.sendArchive(p, "artifacts.zip", names)
	})
}

// flags reads the query of the URI of a file, which version 1 does not have.
func (c *call) flags(known ...string) (map[string]string, error) {
	if c.api == packages1 {
		known = nil
	}
	return c.query(known...)
}

func has(query map[string]string, flag string) bool { _, is := query[flag]; return is }

// readArtifact answers SOL003 v2.6.1 10.4.6.3.2.
func (c *call) readArtifact() error {
	query, err := c.flags(includeSignatures)
	if err != nil {
		return err
	}
	name := c.r.PathValue("path")
	return c.withPackage(func(p openPackage) error {
		if !slices.Contains(artifacts(p.Package), name) {
			return &statusError{status: http.StatusNotFound, detail: "neither the manifest nor TOSCA.meta of the VNF package names this file"}
		}
		if has(query, includeSignatures) {
			return c.sendArchive(p, path.Base(name)+".zip", withSignatures(p.Package, []string{name}))
		}
		return c.sendFile(p, name, mediaOf(p.Package, name))
	})
}

// artifacts are the files that the manifest and TOSCA.meta of a package name.
func artifacts(p *tosca.Package) (names []string) {
	meta := p.Meta()
	for _, a := range meta.Artifacts {
		names = append(names, a.Name)
	}
	for _, name := range meta.Entries {
		names = append(names, name)
	}
	if manifest := p.Manifest(); manifest != nil {
		names = append(names, manifest.File)
		for _, s := range manifest.Sources {
			if !s.Remote() {
				names = append(names, s.Name)
			}
		}
	}
	names = append(names, nonMANOFiles(p, nil)...)
	return files(p, append(names, meta.EntryDefinitions))
}

// files returns the names that are files of a package, sorted.
func files(p *tosca.Package, names []string) []string {
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !p.Has(name) })
}

// nonMANOFiles are the files of the sets of artifacts that the manifest declares (SOL004 v2.6.1 4.3.7), of every set or of those named.
func nonMANOFiles(p *tosca.Package, sets []string) (names []string) {
	if p.Manifest() == nil {
		return nil
	}
	for _, set := range p.Manifest().NonMANO {
		if sets != nil && !slices.Contains(sets, set.Name) {
			continue
		}
		for _, s := range set.Sources {
			names = append(names, s.Name)
		}
	}
	return names
}

// additionalArtifacts are the files of the additionalArtifacts of a package.
func (p openPackage) additionalArtifacts() (names []string) {
	for _, a := range p.info.AdditionalArtifacts {
		names = append(names, a.ArtifactPath)
	}
	return files(p.Package, names)
}

// withSignatures adds the manifest, and the signatures and certificates of files of a package (SOL003 v3.3.1 10.4.4.3.2).
func withSignatures(p *tosca.Package, names []string) []string {
	manifest := p.Manifest()
	if manifest == nil {
		return names
	}
	security := []string{manifest.File, p.Meta().Entries["certificate"]}
	for _, s := range manifest.Sources {
		if slices.Contains(names, s.Name) {
			security = append(security, s.Signature, s.Certificate)
		}
	}
	for _, name := range files(p, security) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// mediaOf returns the media type of a file of a package. A page of HTML is not sent as one.
func mediaOf(p *tosca.Package, name string) string {
	stated := ""
	for _, a := range p.Meta().Artifacts {
		if a.Name == name {
			stated = a.ContentType
		}
	}
	media, _, err := mime.ParseMediaType(cmp.Or(stated, mime.TypeByExtension(path.Ext(name))))
	if err != nil || media == "text/html" || !strings.Contains(media, "/") {
		return mediaBinary
	}
	return media
}

// sendFile answers with a file of a package.
func (c *call) sendFile(p openPackage, name, media string) error {
	info, err := fs.Stat(p, name)
	if err != nil {
		return err
	}
	return c.sendContent(content{media: media, tag: contentTag(p.info), name: path.Base(name), size: info.Size(),
		open: func() (io.ReadCloser, error) { return p.Open(name) }})
}

// sendArchive answers with a ZIP of files of a package. Once the archive has begun, a failure cuts the connection.
func (c *call) sendArchive(p openPackage, name string, names []string) error {
	c.w.Header().Set("Content-Type", mediaZip)
	asAttachment(c.w.Header(), name)
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	archive := zip.NewWriter(&steadyWriter{call: c, deadline: http.NewResponseController(c.w)})
	for _, file := range names {
		if err := addFile(archive, p.Package, file); err != nil {
			c.cut(err)
		}
	}
	if err := archive.Close(); err != nil {
		c.cut(err)
	}
	return nil
}

func addFile(archive *zip.Writer, p *tosca.Package, name string) error {
	from, err := p.Open(name)
	if err != nil {
		return err
	}
	to, err := archive.Create(name)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	return errors.Join(err, from.Close())
}

// openPackage is a package and its description.
type openPackage struct {
	*tosca.Package
	info *onboarding.VnfPkgInfo
}

// contentTag is the entity tag of all files of a package, which are another content under each URI.
func contentTag(info *onboarding.VnfPkgInfo) string { return `"` + info.Checksum.Hash + `"` }

// withPackage calls a function with the package that the path names.
func (c *call) withPackage(use func(openPackage) error) error {
	info, err := c.onboardedPackage()
	if err != nil {
		return err
	}
	p, err := c.Packages.Package(c.r.Context(), c.who.Tenant, info.ID)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return use(openPackage{p, info})
}

// onboardedPackage returns the package that the path names, if it has a content.
func (c *call) onboardedPackage() (*onboarding.VnfPkgInfo, error) {
	info, err := c.ownPackage()
	if err == nil && info.OnboardingState != onboarding.Onboarded {
		return nil, fmt.Errorf("%w: VNF package %s is %s, not %s", vnflcm.ErrState, info.ID, info.OnboardingState, onboarding.Onboarded)
	}
	return info, err
}

// readPackageContent answers SOL003 v2.6.1 10.4.5.3.2: the file that was uploaded.
func (c *call) readPackageContent() error {
	info, err := c.onboardedPackage()
	if err != nil {
		return err
	}
	if _, err := c.query(); err != nil {
		return err
	}
	return c.sendContent(content{media: mediaZip, tag: contentTag(info), name: info.ID + ".zip", size: info.Size,
		open: func() (io.ReadCloser, error) { return c.Packages.Content(c.r.Context(), c.who.Tenant, info.ID) }})
}
