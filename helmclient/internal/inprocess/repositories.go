package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Below Dir: Helm's own files in Helm's own form, and the certificates that they name.
const (
	configFile = "repositories.yaml"
	cacheDir   = "cache"
	caDir      = "ca"
)

// repositoryNames are names that are safe in the name of a file and in a reference.
var repositoryNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// AddRepository implements helmclient.Repositories. The stored repository changes only if its index could be read.
func (c *Client) AddRepository(ctx context.Context, r helmclient.Repository) error {
	e, err := newEntry(r)
	if err != nil {
		return err
	}
	index, err := c.fetchIndex(ctx, e, r.CA)
	if err != nil {
		return err
	}
	return c.changeRepositories(ctx, func(f *known) error {
		ca := filepath.Join(c.dir, caDir, r.Name+".pem")
		if len(r.CA) > 0 {
			e.CAFile = ca
			if err := replace(ca, r.CA); err != nil {
				return err
			}
		} else if err := os.Remove(ca); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.update(e)
		return replace(c.indexFile(r.Name), index)
	})
}

// newEntry checks a repository. A user and password in its URL are kept beside it: errors name URLs.
func newEntry(r helmclient.Repository) (*entry, error) {
	if !repositoryNames.MatchString(r.Name) {
		return nil, fmt.Errorf("%w: repository name %q: must be letters, digits, '.', '_' and '-'", helmclient.ErrInvalid, r.Name)
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%w: repository %s: its URL must begin with https:// or http:// and name a host", helmclient.ErrInvalid, r.Name)
	}
	e := &entry{Name: r.Name, Username: r.Username, Password: r.Password.Reveal()}
	if u.User != nil && e.Username == "" {
		e.Username = u.User.Username()
		e.Password, _ = u.User.Password()
	}
	u.User = nil
	e.URL = u.String()
	return e, nil
}

// UpdateRepositories implements helmclient.Repositories. If one index cannot be read, the remaining ones are still
// read.
func (c *Client) UpdateRepositories(ctx context.Context, names ...string) error {
	f, err := c.repositories()
	if err != nil {
		return err
	}
	entries := f.Repositories
	if len(names) > 0 {
		entries = nil
		for _, name := range names {
			e := f.get(name)
			if e == nil {
				return fmt.Errorf("%w: repository %q is not known", helmclient.ErrInvalid, name)
			}
			entries = append(entries, e)
		}
	}
	var faults []error
	for _, e := range entries {
		ca, err := e.authority()
		if err != nil {
			return err
		}
		index, err := c.fetchIndex(ctx, e, ca)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		faults = append(faults, c.changeRepositories(ctx, func(*known) error { return replace(c.indexFile(e.Name), index) }))
	}
	return errors.Join(faults...)
}

// RemoveRepository implements helmclient.Repositories.
func (c *Client) RemoveRepository(ctx context.Context, name string) error {
	if !repositoryNames.MatchString(name) {
		return fmt.Errorf("%w: repository name %q", helmclient.ErrInvalid, name)
	}
	return c.changeRepositories(ctx, func(f *known) error {
		f.remove(name)
		for _, path := range []string{c.indexFile(name), filepath.Join(c.dir, caDir, name+".pem")} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

func (c *Client) indexFile(name string) string {
	return filepath.Join(c.dir, cacheDir, name+"-index.yaml")
}

// known is Helm's file of repositories, entry a repository in it.
type known struct {
	APIVersion   string    `json:"apiVersion"`
	Generated    time.Time `json:"generated"`
	Repositories []*entry  `json:"repositories"`
}

type entry struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	CAFile   string `json:"caFile,omitempty"`
}

// get returns nil when no repository has that name.
func (f *known) get(name string) *entry {
	for _, e := range f.Repositories {
		if e.Name == name {
			return e
		}
	}
	return nil
}

func (f *known) remove(name string) {
	f.Repositories = slices.DeleteFunc(f.Repositories, func(e *entry) bool { return e.Name == name })
}

func (f *known) update(e *entry) {
	f.remove(e.Name)
	f.Repositories = append(f.Repositories, e)
}

// repositories reads the stored list of repositories.
func (c *Client) repositories() (*known, error) {
	f := &known{}
	text, err := os.ReadFile(filepath.Join(c.dir, configFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = yaml.Unmarshal(text, f)
	}
	if err != nil {
		return nil, fmt.Errorf("helm: %s: %w", configFile, err)
	}
	return f, nil
}

// changeRepositories changes the stored list, with a lock against other clients in this and other processes.
func (c *Client) changeRepositories(ctx context.Context, change func(*known) error) error {
	path, err := c.file(configFile)
	if err != nil {
		return err
	}
	lock := flock.New(filepath.Join(c.dir, "repositories.lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return stopped(ctx, err)
	}
	defer func() { _ = lock.Unlock() }()
	f, err := c.repositories()
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return fmt.Errorf("helm: repositories: %w", err)
	}
	f.APIVersion, f.Generated = "v1", time.Now()
	text, err := yaml.Marshal(f)
	if err != nil {
		return fmt.Errorf("helm: repositories: %w", err)
	}
	if err := replace(path, text); err != nil {
		return fmt.Errorf("helm: repositories: %w", err)
	}
	return nil
}

// replace replaces a file atomically: a concurrent reader sees the old or the new content.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// authority is the certificate that a repository is known by.
func (e *entry) authority() ([]byte, error) {
	if e.CAFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(e.CAFile)
	if err != nil {
		return nil, fmt.Errorf("helm: certificate of repository %s: %w", e.Name, err)
	}
	return text, nil
}
