package helmtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
)

// unique makes names of repositories: a Subject may give all tests the same client.
func unique() string { return fmt.Sprintf("repo%d", serial.Add(1)) }

func testRepository(t *testing.T, s *suite) {
	versions := []string{"1.0.0", "1.3.0", "2.0.0", "3.0.0-beta"}
	for name, c := range map[string]struct{ secure, guard bool }{"plain": {}, "password": {guard: true}, "TLS and password": {true, true}} {
		t.Run(name, func(t *testing.T) {
			handler := repository(t, versions...)
			if c.guard {
				handler = guarded(handler)
			}
			host, ca := s.serve(t, handler, c.secure)
			r := helmclient.Repository{Name: unique(), URL: "http://" + host + "/base"}
			if c.secure {
				r.URL = "https://" + host + "/base/"
				r.Access = access()
				is(t, "unknown authority", s.Client.AddRepository(s.ctx, r), helmclient.ErrUnreachable)
				r.CA = ca
			}
			if c.guard {
				r.Username, r.Password = user, helmclient.NewPassword("wr0ng")
				err := s.Client.AddRepository(s.ctx, r)
				is(t, "wrong password", err, helmclient.ErrDenied)
				if strings.Contains(fmt.Sprint(err), "wr0ng") {
					t.Errorf("the error shows the password: %v", err)
				}
				r.Password = helmclient.NewPassword(password)
			}
			s.useRepository(t, r)
		})
	}
}

func (s *suite) useRepository(t *testing.T, r helmclient.Repository) {
	t.Helper()
	for range 2 { // the second time it is there already
		if err := s.Client.AddRepository(s.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for version, want := range map[string]string{"": "2.0.0", "^1": "1.3.0", "1.0.0": "1.0.0", "3.0.0-beta": "3.0.0-beta"} {
		info, err := s.Client.Show(s.ctx, helmclient.Chart{Ref: r.Name + "/small", Version: version})
		if err != nil {
			t.Fatal(err)
		}
		if info.Name != "small" || info.Version != want {
			t.Errorf("version %q: %+v, want %s", version, info, want)
		}
	}
	for _, c := range []helmclient.Chart{{Ref: r.Name + "/small", Version: "9"}, {Ref: r.Name + "/other"}} {
		_, err := s.Client.Show(s.ctx, c)
		is(t, c.Ref+" "+c.Version, err, helmclient.ErrInvalidChart)
	}
	n := s.name(r.Name)
	s.install(t, helmclient.Install{Name: n, Chart: helmclient.Chart{Ref: r.Name + "/small", Version: "1.0.0"}})
	if got := s.stands(t, n, 1, helmclient.Deployed); got.Chart.Version != "1.0.0" {
		t.Errorf("chart is %+v", got.Chart)
	}
	dir := t.TempDir()
	path, err := s.Client.Pull(s.ctx, helmclient.Chart{Ref: r.Name + "/small", Version: "1.3.0"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path) //nolint:gosec // in a directory of the test
	if err != nil || filepath.Dir(path) != dir {
		t.Fatal(path, err)
	}
	if diff := cmp.Diff(pack(t, "small", "1.3.0", small()), text); diff != "" {
		t.Error("the archive that was pulled is another one")
	}
	url := strings.TrimSuffix(r.URL, "/") + "/charts/small-1.3.0.tgz"
	if info, err := s.Client.Show(s.ctx, helmclient.Chart{Ref: url, Access: r.Access}); err != nil || info.Version != "1.3.0" {
		t.Errorf("chart by its URL: %v %v", info, err)
	}
	if err := s.Client.UpdateRepositories(s.ctx, r.Name); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := s.Client.RemoveRepository(s.ctx, r.Name); err != nil {
			t.Error(err)
		}
	}
	_, err = s.Client.Show(s.ctx, helmclient.Chart{Ref: r.Name + "/small"})
	is(t, "chart of a repository that was removed", err, helmclient.ErrInvalid)
	is(t, "update of it", s.Client.UpdateRepositories(s.ctx, r.Name), helmclient.ErrInvalid)
}

func testUnreachableRepository(t *testing.T, s *suite) {
	l := s.Listen(t)
	host := l.Addr().String()
	_ = l.Close()
	add := func(url string) error {
		return s.Client.AddRepository(s.ctx, helmclient.Repository{Name: unique(), URL: url, Access: access()})
	}
	is(t, "nobody there", add("http://"+host), helmclient.ErrUnreachable)
	is(t, "no such host", add("http://missing.invalid"), helmclient.ErrUnreachable)
	for _, url := range []string{"", "host/path", "ftp://" + host, "file:///etc", "http://"} {
		is(t, "URL "+url, add(url), helmclient.ErrInvalid)
	}
	for _, name := range []string{"", "a/b", "../a", "-a", "a b"} {
		err := s.Client.AddRepository(s.ctx, helmclient.Repository{Name: name, URL: "http://" + host})
		is(t, "name "+name, err, helmclient.ErrInvalid)
	}
	empty, _ := s.serve(t, http.NotFoundHandler(), false)
	if err := add("http://" + empty); err == nil {
		t.Error("a server without an index was added")
	}
	_, err := s.Client.Show(s.ctx, helmclient.Chart{Ref: "http://" + host + "/a-1.0.0.tgz"})
	is(t, "URL of a chart", err, helmclient.ErrUnreachable)
	_, err = s.Client.Show(s.ctx, helmclient.Chart{Ref: "oci://" + host + "/a/b", Version: "1.0.0", Access: helmclient.Access{PlainHTTP: true}})
	is(t, "registry", err, helmclient.ErrUnreachable)
	leak := add("http://" + user + ":hunter2@" + host)
	is(t, "password in the URL", leak, helmclient.ErrUnreachable)
	if strings.Contains(fmt.Sprint(leak), "hunter2") {
		t.Errorf("the error shows the password: %v", leak)
	}
}

func testRegistry(t *testing.T, s *suite) {
	handler := images()
	plain, _ := s.serve(t, handler, false)
	push(s.ctx, t, plain, http.DefaultTransport, "1.0.0", "1.3.0+build.7", "2.0.0")
	secured, ca := s.serve(t, guarded(handler), true)
	open := helmclient.Access{PlainHTTP: true}
	closed := access()
	closed.CA = ca
	for host, a := range map[string]helmclient.Access{plain: open, secured: closed} {
		ref := "oci://" + host + "/charts/small"
		for version, want := range map[string]string{"": "2.0.0", "^1": "1.3.0+build.7", "1.0.0": "1.0.0", "1.3.0+build.7": "1.3.0+build.7"} {
			info, err := s.Client.Show(s.ctx, helmclient.Chart{Ref: ref, Version: version, Access: a})
			if err != nil {
				t.Fatal(err)
			}
			if info.Version != want {
				t.Errorf("version %q: %+v, want %s", version, info, want)
			}
		}
		for _, c := range []helmclient.Chart{{Ref: ref, Version: "9.9.9"}, {Ref: "oci://" + host + "/charts/other", Version: "1.0.0"}} {
			c.Access = a
			_, err := s.Client.Show(s.ctx, c)
			is(t, c.Ref+" "+c.Version, err, helmclient.ErrInvalidChart)
		}
	}
	_, err := s.Client.Show(s.ctx, helmclient.Chart{Ref: "oci://" + plain + "/charts/small", Version: "1.0.0"})
	is(t, "plain HTTP that was not requested", err, helmclient.ErrUnreachable)
	ref := helmclient.Chart{Ref: "oci://" + secured + "/charts/small", Version: "1.0.0", Access: access()}
	_, err = s.Client.Show(s.ctx, ref)
	is(t, "unknown authority", err, helmclient.ErrUnreachable)
	ref.Access = helmclient.Access{Username: user, Password: helmclient.NewPassword("wr0ng"), CA: ca}
	_, err = s.Client.Show(s.ctx, ref)
	is(t, "wrong password", err, helmclient.ErrDenied)
	if strings.Contains(fmt.Sprint(err), "wr0ng") {
		t.Errorf("the error shows the password: %v", err)
	}
	ref.Access = closed
	s.install(t, helmclient.Install{Name: s.name("oci"), Chart: ref})
}
