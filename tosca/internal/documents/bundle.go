package documents

import (
	"cmp"
	"maps"
	"sync"

	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// bundle are the bundled documents that a descriptor uses.
type bundle struct {
	documents []Document
	seen      map[string]bool
	release   string // release of the first imported file
}

// load adds the bundled file that a document imports, and the imports of that file. It returns false if no bundled file
// has that name.
func (b *bundle) load(importer Document, target string) bool {
	metadata := importer.Root.Get("metadata")
	f, ok := etsi.Lookup(target, etsi.VersionFor(importer.Version,
		metadata.Get("template_name").Str(), metadata.Get("template_version").Str()))
	if !ok {
		return false
	}
	b.addFile(f)
	b.release = cmp.Or(b.release, f.Version)
	return true
}

func (b *bundle) addFile(f etsi.File) {
	if b.seen[f.String()] {
		return
	}
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	b.seen[f.String()] = true
	d := parsed(f.String(), f.String(), f.Content)
	b.documents = append(b.documents, d)
	for _, i := range importsOf(d.Root.Get("imports")) {
		if next, ok := etsi.Lookup(i.file.Str(), f.Version); ok {
			b.addFile(next)
		}
	}
}

// addTo appends the bundled documents to a set, then the TOSCA profile of the newest version among all documents. The implicit
// documents are the remaining type files of the same release.
func (b *bundle) addTo(s *Set) {
	s.All = append(s.All, b.documents...)
	version := newest(s.All)
	s.All = append(s.All, parsed(version, etsi.ProfileName, func() []byte {
		content, _ := etsi.Profile(version)
		return content
	}))
	release := cmp.Or(b.release, etsi.VersionFor(s.Entry().Version, "", ""))
	s.Implicit = func() []Document {
		rest := bundle{seen: maps.Clone(b.seen)}
		for _, part := range []string{"vnfd", "common", "nsd", "pnfd"} {
			if f, ok := etsi.Lookup("etsi_nfv_sol001_"+part+"_types.yaml", release); ok {
				rest.addFile(f)
			}
		}
		return rest.documents
	}
}

// cache holds the bundled documents that this process has parsed. They are larger than most descriptors and never change.
var cache sync.Map // of func() Document

func parsed(key, file string, content func() []byte) Document {
	once, _ := cache.LoadOrStore(key, sync.OnceValue(func() Document {
		root := yamltree.NewParser(&report.Report{}).Parse(file, content())
		return Document{
			File:    file,
			Root:    root,
			Version: root.Get("tosca_definitions_version").Str(),
			Bundled: true,
		}
	}))
	return once.(func() Document)()
}
