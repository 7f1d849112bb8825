package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/gofrs/flock"
	"helm.sh/helm/v3/pkg/repo"
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

// AddRepository implements helmclient.Repositories. What is known of it changes only when its index could be read.
func (c *Client) AddRepository(ctx context.Context, r helmclient.Repository) error {
	entry, err := c.entry(r)
	if err != nil {
		return err
	}
	index, err := c.fetchIndex(ctx, entry, r.CA)
	if err != nil {
		return err
	}
	return c.changeRepositories(ctx, func(f *repo.File) error {
		ca := filepath.Join(c.dir, caDir, r.Name+".pem")
		if len(r.CA) > 0 {
			entry.CAFile = ca
			if err := replace(ca, r.CA); err != nil {
				return err
			}
		} else if err := os.Remove(ca); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.Update(entry)
		return replace(c.indexFile(r.Name), index)
	})
}

// entry checks a repository. A user and password in its URL are kept beside it: errors name URLs.
func (c *Client) entry(r helmclient.Repository) (*repo.Entry, error) {
	if !repositoryNames.MatchString(r.Name) {
		return nil, fmt.Errorf("%w: repository name %q: must be letters, digits, '.', '_' and '-'", helmclient.ErrInvalid, r.Name)
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%w: repository %s: its URL must begin with https:// or http:// and name a host", helmclient.ErrInvalid, r.Name)
	}
	entry := &repo.Entry{Name: r.Name, Username: r.Username, Password: r.Password.Reveal()}
	if u.User != nil && entry.Username == "" {
		entry.Username = u.User.Username()
		entry.Password, _ = u.User.Password()
	}
	u.User = nil
	entry.URL = u.String()
	return entry, nil
}

// UpdateRepositories implements helmclient.Repositories. An index that cannot be read does not keep the others from
// being read.
func (c *Client) UpdateRepositories(ctx context.Context, names ...string) error {
	f, err := c.repositories()
	if err != nil {
		return err
	}
	entries := f.Repositories
	if len(names) > 0 {
		entries = nil
		for _, name := range names {
			entry := f.Get(name)
			if entry == nil {
				return fmt.Errorf("%w: repository %q is not known", helmclient.ErrInvalid, name)
			}
			entries = append(entries, entry)
		}
	}
	var faults []error
	for _, entry := range entries {
		ca, err := authority(entry)
		if err != nil {
			return err
		}
		index, err := c.fetchIndex(ctx, entry, ca)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		faults = append(faults, c.changeRepositories(ctx, func(*repo.File) error { return replace(c.indexFile(entry.Name), index) }))
	}
	return errors.Join(faults...)
}

// RemoveRepository implements helmclient.Repositories.
func (c *Client) RemoveRepository(ctx context.Context, name string) error {
	if !repositoryNames.MatchString(name) {
		return fmt.Errorf("%w: repository name %q", helmclient.ErrInvalid, name)
	}
	return c.changeRepositories(ctx, func(f *repo.File) error {
		f.Remove(name)
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

// repositories reads what is known.
func (c *Client) repositories() (*repo.File, error) {
	f, err := repo.LoadFile(filepath.Join(c.dir, configFile))
	if errors.Is(err, fs.ErrNotExist) {
		return repo.NewFile(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("helm: %s: %w", configFile, err)
	}
	return f, nil
}

// changeRepositories changes what is known while no other client does, of this process or another.
func (c *Client) changeRepositories(ctx context.Context, change func(*repo.File) error) error {
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
	f.Generated = time.Now()
	text, err := yaml.Marshal(f)
	if err != nil {
		return fmt.Errorf("helm: repositories: %w", err)
	}
	if err := replace(path, text); err != nil {
		return fmt.Errorf("helm: repositories: %w", err)
	}
	return nil
}

// replace writes a file whole: whoever reads it meanwhile gets the old one or the new one.
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
func authority(entry *repo.Entry) ([]byte, error) {
	if entry.CAFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(entry.CAFile)
	if err != nil {
		return nil, fmt.Errorf("helm: certificate of repository %s: %w", entry.Name, err)
	}
	return text, nil
}
