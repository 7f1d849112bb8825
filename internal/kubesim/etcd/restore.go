package etcd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// Restored is what a directory has that "etcdutl snapshot restore" has made.
type Restored struct {
	Token   string          `json:"token"`
	Members []Member        `json:"members"`
	Content json.RawMessage `json:"content"`
}

// Files of a data directory, in its subdirectory member.
const (
	database = "snap/db"
	identity = "wal/0000000000000000-0000000000000000.wal" // has the token of a restored member, as a WAL has the id of the cluster
)

// Database returns the file with the data in a directory.
func Database(dir string) string { return path.Join(dir, "member", database) }

// TokenIn returns the token of the restore that has made a data directory, "" for one of kubeadm.
func TokenIn(files afero.Fs, dir string) string {
	text, err := afero.ReadFile(files, path.Join(dir, "member", identity))
	if err != nil {
		return ""
	}
	return string(text)
}

// WriteToken notes in a new data directory to which cluster it belongs.
func WriteToken(c *program.Call, dir, token string) error {
	return c.Write(path.Join(dir, "member", identity), token, 0o600)
}

// ReadRestored reads a data directory that Restore has made.
func ReadRestored(files afero.Fs, dir string) (r Restored, err error) {
	text, err := afero.ReadFile(files, Database(dir))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// Restore is "etcdutl snapshot restore". It refuses a damaged snapshot, a directory with data, and a revision that clients have seen.
func Restore(c *program.Call, args []string) error {
	var dir, name, cluster, token, peers string
	var bump int64
	var compacted bool
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&dir, "data-dir", "", "")
		f.StringVar(&name, "name", "default", "")
		f.StringVar(&cluster, "initial-cluster", "", "")
		f.StringVar(&token, "initial-cluster-token", "etcd-cluster", "")
		f.StringVar(&peers, "initial-advertise-peer-urls", "", "")
		f.Int64Var(&bump, "bump-revision", 0, "")
		f.BoolVar(&compacted, "mark-compacted", false, "")
	})
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return errors.New("Error: snapshot restore requires exactly one argument")
	case bump == 0 || !compacted:
		return errors.New("kubesim: without --bump-revision and --mark-compacted clients of the API have seen later revisions than the restored ones")
	case c.Exists(dir):
		return fmt.Errorf("Error: data-dir %q not empty or could not be read", dir)
	}
	data, err := c.Read(rest[0])
	if err != nil {
		return err
	}
	content, sum := data[:max(0, len(data)-sha256.Size)], data[max(0, len(data)-sha256.Size):]
	if want := sha256.Sum256(content); !bytes.Equal(want[:], sum) {
		return fmt.Errorf("Error: expected sha256 %x, got %x", sum, want)
	}
	r := Restored{Token: token}
	if r.Content, err = unpack(content); err != nil {
		return fmt.Errorf("Error: %w", err)
	}
	if r.Members, err = membersOf(cluster, token); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.Members, func(m Member) bool {
		return m.Name == name && "https://"+netip.AddrPortFrom(m.Address, 2380).String() == peers
	}) {
		return fmt.Errorf("Error: couldn't find local name %q in the initial cluster configuration with %s", name, peers)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return errors.Join(c.Write(Database(dir), string(text), 0o600), WriteToken(c, dir, token))
}

// membersOf returns the members of an initial cluster: name=URL by comma. Their ids follow from the names, the URLs and the token.
func membersOf(cluster, token string) (members []Member, err error) {
	for part := range strings.SplitSeq(cluster, ",") {
		name, peer, _ := strings.Cut(part, "=")
		u, err := url.Parse(peer)
		if err != nil {
			return nil, err
		}
		address, err := netip.ParseAddrPort(u.Host)
		if err != nil || name == "" || u.Scheme != "https" {
			return nil, fmt.Errorf("Error: the initial cluster has %q: %w", part, err)
		}
		sum := sha256.Sum256([]byte(part + token))
		members = append(members, Member{ID: number64(sum[:]), Name: name, Address: address.Addr()})
	}
	return members, nil
}
