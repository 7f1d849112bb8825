package helmcli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
)

// source is the chart of a call before it is on a machine.
type source struct {
	helmclient.Chart
	archive []byte
	digest  string
	host    string // of a Ref that is a URL
}

// prepare checks a chart and reads its archive, once.
func prepare(c helmclient.Chart) (source, error) {
	s := source{Chart: c}
	given := 0
	for _, is := range []bool{c.Ref != "", c.Path != "", c.Archive != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return s, fmt.Errorf("%w: chart: one of Ref, Path and Archive is needed", helmclient.ErrInvalid)
	}
	if strings.ContainsAny(c.Ref+c.Path+c.Version, "\x00\n\r") || strings.HasPrefix(c.Ref, "-") || strings.HasPrefix(c.Ref, ".") || path.IsAbs(c.Ref) {
		return s, fmt.Errorf("%w: chart %q: must be repository/chart or a URL", helmclient.ErrInvalid, c.Ref)
	}
	if c.Archive != nil {
		data, err := readArchive(c.Archive)
		sum := sha256.Sum256(data)
		s.archive, s.digest = data, hex.EncodeToString(sum[:])
		return s, err
	}
	if strings.Contains(c.Ref, "://") {
		u, err := url.Parse(c.Ref)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "oci" && u.Scheme != "http" && u.Scheme != "https" {
			return s, fmt.Errorf("%w: chart: the URL must be oci, http or https, and without a user", helmclient.ErrInvalid)
		}
		s.host = u.Host
	} else if c.Ref != "" && !strings.Contains(c.Ref, "/") {
		return s, fmt.Errorf("%w: chart %q: must be repository/chart or a URL", helmclient.ErrInvalid, c.Ref)
	}
	return s, nil
}

// providedChart is a chart on a machine, ready for helm.
type providedChart struct {
	ref  string
	args []string
	temp string // directory to be removed
}

// provideChart writes a chart, or the files that helm needs to download it, on a machine.
func (c *Client) provideChart(ctx context.Context, m *machine, s source) (providedChart, error) {
	p := providedChart{ref: s.Ref}
	if s.Version != "" {
		p.args = append(p.args, "--version="+s.Version)
	}
	switch {
	case s.archive != nil:
		p.ref = m.dir + "/charts/" + s.digest + ".tgz"
		return providedChart{ref: p.ref}, m.put(ctx, p.ref, s.archive)
	case s.Path != "":
		p.ref = s.Path
		if !path.IsAbs(s.Path) {
			p.ref = path.Join(m.dir, s.Path)
		}
		return providedChart{ref: p.ref}, nil
	case s.host == "":
		return p, c.equip(ctx, m, strings.SplitN(s.Ref, "/", 2)[0])
	}
	return m.access(ctx, s, p)
}

// access writes the credentials and the CA of a Ref into files. As arguments of helm they would be visible to every
// user of the machine.
func (m *machine) access(ctx context.Context, s source, p providedChart) (providedChart, error) {
	a, oci, ca := s.Access, strings.HasPrefix(s.Ref, "oci://"), ""
	var err error
	switch {
	case oci && a.PlainHTTP:
		p.args = append(p.args, "--plain-http")
	case oci || len(a.CA) > 0: // helm falls back to plain HTTP for a registry that offers it, unless certificates are given
		if ca, err = m.authority(ctx, a.CA); err != nil {
			return p, err
		}
		p.args = append(p.args, "--ca-file="+ca)
	}
	if a.Username == "" && a.Password.IsZero() {
		return p, nil
	}
	if p.temp, err = m.temporary(ctx); err != nil {
		return p, err
	}
	files := map[string][]byte{}
	if oci {
		files["registry.json"] = registryConfig(s.host, a)
		p.args = append(p.args, "--registry-config="+p.temp+"/registry.json")
	} else {
		files["repositories.yaml"], files["cache/x-index.yaml"] = repositoryOf(s, ca)
		p.args = append(p.args, "--repository-config="+p.temp+"/repositories.yaml", "--repository-cache="+p.temp+"/cache")
	}
	for name, content := range files {
		if err := m.put(ctx, p.temp+"/"+name, content); err != nil {
			return p, err
		}
	}
	return p, nil
}

// temporary makes a directory for one call.
func (m *machine) temporary(ctx context.Context) (string, error) {
	out, err := m.run(ctx, command{argv: []string{"mktemp", "-d", m.dir + "/tmp.XXXXXXXX"}, files: true})
	temp := strings.TrimSpace(string(out))
	if err == nil && (!strings.HasPrefix(temp, m.dir+"/tmp.") || strings.Contains(temp[len(m.dir)+1:], "/")) {
		return "", fmt.Errorf("helm: %s: mktemp answers %.64q", m.name, temp)
	}
	return temp, err
}

// registryConfig is a credentials file as Docker has it, which Helm reads.
func registryConfig(host string, a helmclient.Access) []byte {
	auth := base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password.Reveal()))
	data, _ := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]string{"auth": auth}}}) //nolint:errchkjson // texts only
	return data
}

// repositoryOf returns the configuration and index of a repository that holds one chart, by its URL. For the URL of an
// archive, helm uses the credentials of the repository that contains it (pkg/downloader, scanReposForURL).
func repositoryOf(s source, ca string) (config, index []byte) {
	base := s.Ref[:strings.LastIndexByte(s.Ref, '/')]
	entry := map[string]any{"name": "x", "url": base, "username": s.Access.Username, "password": s.Access.Password.Reveal()}
	if ca != "" {
		entry["caFile"] = ca
	}
	config, _ = json.Marshal(map[string]any{"apiVersion": "", "generated": time.Time{}, "repositories": []any{entry}})                        //nolint:errchkjson // texts only
	index, _ = json.Marshal(map[string]any{"apiVersion": "v1", "generated": time.Time{}, "entries": map[string]any{"x": []any{map[string]any{ //nolint:errchkjson // texts only
		"apiVersion": "v2", "name": "x", "version": "0.0.0", "urls": []string{s.Ref}}}}})
	return config, index
}

// putFile writes standard input into file $1, completely or not at all. $2 is its digest.
const putFile = `mkdir -p "$(dirname "$1")" || exit 74; t=$(mktemp "$1.XXXXXXXX") || exit 74; ` +
	`trap 'rm -f "$t"' EXIT; trap 'exit 143' HUP INT TERM; cat >"$t" || exit 74; ` +
	`s=$(sha256sum <"$t") || exit 74; [ "${s%% *}" = "$2" ] || { echo "the file arrived incomplete" >&2; exit 1; }; mv -f "$t" "$1"`

// hasFile prints "same" if file $1 has digest $2.
const hasFile = `[ -f "$1" ] || exit 0; s=$(sha256sum <"$1") || exit 0; [ "${s%% *}" != "$2" ] || echo same`

// put writes a file on a machine, 0600, unless a file with this content exists.
func (m *machine) put(ctx context.Context, name string, content []byte) error {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	out, err := m.run(ctx, command{argv: []string{"/bin/sh", "-c", hasFile, "sh", name, digest}, files: true})
	if err != nil || strings.TrimSpace(string(out)) == "same" {
		return err
	}
	_, err = m.run(ctx, command{argv: []string{"/bin/sh", "-c", putFile, "sh", name, digest}, files: true, stdin: bytes.NewReader(content)})
	return err
}

// cleanUp bounds the removal of a file after the call has ended.
const cleanUp = 20 * time.Second

// discard removes the files that provideChart has made for one call only, also if the context of the call has ended.
func (c *Client) discard(ctx context.Context, m *machine, temp string) {
	if temp == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if _, err := m.run(ctx, command{argv: []string{"rm", "-rf", "--", temp}}); err != nil {
		c.config.Log.WarnContext(ctx, "temporary files are left on the machine", "machine", m.name, "directory", temp, "error", err)
	}
}

// RemoveFiles removes Config.Dir on all machines: charts, repositories and credentials. Its error joins the errors of
// machines on which the directory could not be removed.
func (c *Client) RemoveFiles(ctx context.Context) error {
	return c.everywhere(ctx, func(m *machine) error {
		_, err := m.run(ctx, command{argv: []string{"/bin/sh", "-c", `cd / && rm -rf -- "$1"`, "sh", m.dir}})
		return err
	})
}
