package kubeadm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
)

var (
	// What apt and its files would take for something else is left out: blanks, quotes, $(ARCH) and [options].
	repositoryForm = regexp.MustCompile(`^https?://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~:+,@%/-]*)?$`)
	suiteForm      = regexp.MustCompile(`^(/|[A-Za-z0-9][A-Za-z0-9._~+/-]*)$`)
	componentForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/-]*$`)
)

func (c *checker) repository(p packagesParam) {
	u, err := url.Parse(p.RepositoryURL)
	switch {
	case p.RepositoryURL == "":
		c.fault("packages.repository_url", "", "is required with packages.source repository")
	case err == nil && u.User != nil:
		c.fault("packages.repository_url", "", "has a login, which every user of the machines could read: use a repository that asks for none")
	case !repositoryForm.MatchString(p.RepositoryURL), err != nil, !isPort(u.Port()):
		c.fault("packages.repository_url", p.RepositoryURL, "must be the address of an apt repository, such as https://pkgs.k8s.io/core:/stable:/v1.34/deb/")
	}
	suite := cmp.Or(p.RepositorySuite, "/")
	if !suiteForm.MatchString(suite) || strings.Contains(suite, "..") {
		c.fault("packages.repository_suite", suite, "must be / (a flat repository) or the name of a suite, such as stable")
	}
	switch flat := strings.HasSuffix(suite, "/"); {
	case flat && len(p.RepositoryComponents) > 0:
		c.fault("packages.repository_components", "", "a flat repository has none: name a suite, or leave them out")
	case !flat && len(p.RepositoryComponents) == 0:
		c.fault("packages.repository_components", "", "are required with a suite, such as main")
	}
	for i, name := range p.RepositoryComponents {
		if !componentForm.MatchString(name) || strings.Contains(name, "..") {
			c.fault(fmt.Sprintf("packages.repository_components[%d]", i), name, "is no name of a component, such as main")
		}
	}
	c.file("packages.repository_key_path", p.RepositoryKeyPath)
	if p.RepositoryKeyPath == "" {
		c.fault("packages.repository_key_path", "", "is required with packages.source repository: packages are installed only when their signature is right")
	} else if name, err := c.op.Package.Artifact(p.RepositoryKeyPath); err == nil {
		if _, _, err := readKey(c.op.Package, name); err != nil {
			c.fault("packages.repository_key_path", p.RepositoryKeyPath, err.Error())
		}
	}
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return text == "" || err == nil && n > 0 && n < 65536
}

// readKey reads an OpenPGP public key, and says under which name apt takes it: it tells armored keys from
// binary ones by that (apt-secure(8), sources.list(5)).
func readKey(files fs.FS, name string) (key []byte, suffix string, err error) {
	const largest = 1 << 20
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, "", err
	}
	if info.Size() > largest {
		return nil, "", errors.New("is larger than 1 MiB: no key of a repository is")
	}
	if key, err = fs.ReadFile(files, name); err != nil {
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

// The files of the repository for Kubernetes. apt trusts the key for this repository alone.
const (
	keyringBase    = "/etc/apt/keyrings/vnfkit-kubernetes."
	repositoryFile = "/etc/apt/sources.list.d/vnfkit-kubernetes.sources"
)

func (d *deployment) addRepository(ctx context.Context, n mgmt.Node) error {
	name, err := d.op.Package.Artifact(d.p.Packages.RepositoryKeyPath)
	if err != nil {
		return err
	}
	key, suffix, err := readKey(d.op.Package, name)
	if err != nil {
		return err
	}
	if err := put(ctx, n, keyringBase+suffix, string(key), 0o644); err != nil {
		return err
	}
	return put(ctx, n, repositoryFile, d.p.Packages.sources(keyringBase+suffix), 0o644)
}

// sources is the file of the repository (sources.list(5), "deb822-style format").
func (p packagesParam) sources(keyring string) string {
	lines := []string{"Types: deb", "URIs: " + p.RepositoryURL, "Suites: " + cmp.Or(p.RepositorySuite, "/")}
	if len(p.RepositoryComponents) > 0 {
		lines = append(lines, "Components: "+strings.Join(p.RepositoryComponents, " "))
	}
	return strings.Join(append(lines, "Signed-By: "+keyring, ""), "\n")
}
