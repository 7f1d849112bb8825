package linux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Open opens a file of the VNF package by the path in a request. The error wraps fs.ErrNotExist if the file does not
// exist.
type Open func(path string) (io.ReadCloser, error)

// Repository is a repository of Debian packages, as requests give it.
type Repository struct {
	// URL is where it is: "https://pkgs.k8s.io/core:/stable:/v1.36/deb/". Logins have no place in it.
	URL string `json:"repository_url"`
	// Suite is the name of a suite, such as "stable", or of a directory with a slash at its end. Default "/": a
	// flat repository.
	Suite string `json:"repository_suite"`
	// Components of the suite, such as "main". A flat repository has none.
	Components []string `json:"repository_components"`
	// KeyPath is a file of the VNF package with the OpenPGP key, armored or binary, that signs the repository.
	// Required: packages without a valid signature are not installed.
	KeyPath string `json:"repository_key_path"`
}

var (
	// What apt and its files would take for something else is left out: blanks, quotes, $(ARCH) and [options].
	repositoryForm = regexp.MustCompile(`^https?://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~:+,@%/-]*)?$`)
	suiteForm      = regexp.MustCompile(`^(/|[A-Za-z0-9][A-Za-z0-9._~+/-]*)$`)
	componentForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/-]*$`)
)

// Validate reports every fault (*vnflcm.ParamError, joined), by the names of the attributes.
func (r Repository) Validate(open Open) error {
	var faults []error
	fault := func(path, value, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
	}
	u, err := url.Parse(r.URL)
	switch {
	case r.URL == "":
		fault("repository_url", "", "is required")
	case err == nil && u.User != nil:
		fault("repository_url", "", "has a login, which every user of the machines could read: use a repository that asks for none")
	case !repositoryForm.MatchString(r.URL), err != nil, !isPort(u.Port()):
		fault("repository_url", r.URL, "must be the address of an apt repository, such as https://pkgs.k8s.io/core:/stable:/v1.36/deb/")
	}
	suite := cmp.Or(r.Suite, "/")
	if !suiteForm.MatchString(suite) || strings.Contains(suite, "..") {
		fault("repository_suite", suite, "must be / (a flat repository) or the name of a suite, such as stable")
	}
	switch flat := strings.HasSuffix(suite, "/"); {
	case flat && len(r.Components) > 0:
		fault("repository_components", "", "a flat repository has none: name a suite, or leave them out")
	case !flat && len(r.Components) == 0:
		fault("repository_components", "", "are required with a suite, such as main")
	}
	for i, name := range r.Components {
		if !componentForm.MatchString(name) || strings.Contains(name, "..") {
			fault(fmt.Sprintf("repository_components[%d]", i), name, "is no name of a component, such as main")
		}
	}
	if r.KeyPath == "" {
		fault("repository_key_path", "", "is required: packages are installed only when their signature is right")
	} else if _, _, err := readKey(open, r.KeyPath); err != nil {
		fault("repository_key_path", r.KeyPath, err.Error())
	}
	return errors.Join(faults...)
}

// Present returns the names of the attributes that have a value.
func (r Repository) Present() (names []string) {
	for _, a := range []struct {
		name  string
		given bool
	}{
		{"repository_url", r.URL != ""}, {"repository_suite", r.Suite != ""},
		{"repository_components", len(r.Components) > 0}, {"repository_key_path", r.KeyPath != ""},
	} {
		if a.given {
			names = append(names, a.name)
		}
	}
	return names
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return text == "" || err == nil && n > 0 && n < 65536
}

// largestKey bounds a file with a key.
const largestKey = 1 << 20

// readKey reads an OpenPGP public key, and returns the suffix of the file for it: apt distinguishes armored keys from
// binary ones by the suffix (apt-secure(8), sources.list(5)).
func readKey(open Open, name string) (key []byte, suffix string, err error) {
	f, err := open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", errors.New("the package has no such file")
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if key, err = bounded.Read(f, largestKey); err != nil {
		return nil, "", err
	}
	suffix = keyForm(key)
	if suffix == "" {
		return nil, "", errors.New("is no OpenPGP public key, armored or binary")
	}
	return key, suffix, nil
}

// keyForm is "asc" for an armored key, "gpg" for a binary one and "" for anything else: a secret key above all.
// A binary key begins with a public-key packet, tag 6 (RFC 9580, 4.2 and 5).
func keyForm(key []byte) string {
	const publicKey = 6
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(key, " \t\r\n"), []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")):
		return "asc"
	case len(key) < 2 || key[0]&0x80 == 0:
		return ""
	case key[0]&0x40 != 0 && key[0]&0x3f == publicKey, key[0]&0x40 == 0 && key[0]>>2&0x0f == publicKey:
		return "gpg"
	default:
		return ""
	}
}

// AddRepository adds a repository to apt's configuration, in files that are named after name. apt accepts the key for
// this repository only.
func (p Packages) AddRepository(ctx context.Context, name string, r Repository, open Open) error {
	return p.writeSources(ctx, "/etc/apt/sources.list.d", name, []Repository{r}, open)
}

// SetRepositories writes the repositories into p.SourceParts, instead of those of an earlier call. apt accepts the key of each for this
// repository only.
func (p Packages) SetRepositories(ctx context.Context, repositories []Repository, open Open) error {
	return p.writeSources(ctx, p.SourceParts, "mirror", repositories, open)
}

// writeSources writes one file with repositories, and their keys before.
func (p Packages) writeSources(ctx context.Context, dir, name string, repositories []Repository, open Open) error {
	var stanzas []string
	for i, r := range repositories {
		key, suffix, err := readKey(open, r.KeyPath)
		if err != nil {
			return fmt.Errorf("linux: %s %w", r.KeyPath, err)
		}
		keyring := "/etc/apt/keyrings/vnfkit-" + name
		if i > 0 {
			keyring += "-" + strconv.Itoa(i+1)
		}
		keyring += "." + suffix
		if err := p.Write(ctx, keyring, key, 0o644); err != nil {
			return err
		}
		stanzas = append(stanzas, r.sources(keyring))
	}
	return p.Write(ctx, dir+"/vnfkit-"+name+".sources", []byte(strings.Join(stanzas, "\n")), 0o644)
}

// sources is the file of the repository (sources.list(5), "deb822-style format").
func (r Repository) sources(keyring string) string {
	lines := []string{"Types: deb", "URIs: " + r.URL, "Suites: " + cmp.Or(r.Suite, "/")}
	if len(r.Components) > 0 {
		lines = append(lines, "Components: "+strings.Join(r.Components, " "))
	}
	return strings.Join(append(lines, "Signed-By: "+keyring, ""), "\n")
}
