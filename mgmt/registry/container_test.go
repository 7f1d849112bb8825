package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// again runs the hook of the instantiation once more, with nothing in the journal: the operation fails in its last
// step, its journal is dropped, it is tried again. before changes the machine meanwhile.
func (l *lab) again(patch string, before func()) (id string) {
	l.t.Helper()
	fail := true
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == "publish" && fail {
				return context.DeadlineExceeded
			}
			return next(ctx)
		}
	})
	id = l.Created()
	opID, err := m.Instantiate(l.t.Context(), id, l.Request("instantiate.json", with(l.t, patch)))
	_ = l.Fails(opID, err, m)
	before()
	l.DropJournal()
	fail = false
	l.Must(opID, m.Retry(l.t.Context(), opID), m)
	return id
}

// TestNothingChangesTwice: a registry that is as it should be is left alone.
func TestNothingChangesTwice(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{"plain": `{}`, "secured": secured, "proxy": `{"proxy":{"http_proxy":"http://p:3128","https_proxy":"http://p:3128"}}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, setup{})
			var was string
			l.again(patch, func() { was = l.container() })
			if now := l.container(); now != was {
				t.Errorf("container %s has become %s", was, now)
			}
			if n := l.runs("container", "rm"); n != 0 {
				t.Errorf("a container was removed %d times", n)
			}
			for _, r := range l.machine().Commands() {
				if line := strings.Join(r.Argv, " "); line == "systemctl restart docker" && name != "proxy" {
					t.Error("Docker was started anew")
				}
			}
		})
	}
}

// TestContainerComesRight: whatever is found by the name of the registry.
func TestContainerComesRight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []string
		stays  bool // the container does
	}{
		"stopped": {[]string{"docker container stop private_registry"}, true},
		"gone":    {[]string{"docker container rm --force private_registry"}, false},
		"somebody else's": {[]string{"docker container rm --force private_registry",
			"docker run --detach --name private_registry --restart=always --publish 80:5000 --volume /srv:/var/lib/registry registry:latest"}, false},
		"Docker is stopped": {[]string{"systemctl stop docker"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, setup{})
			var was string
			id := l.again(`{}`, func() {
				was = l.container()
				for _, line := range c.before {
					l.on(strings.Fields(line)...)
				}
			})
			if stays := l.container() == was; stays != c.stays {
				t.Errorf("it is the same container: %v", stays)
			}
			must(t, l.push(l.connection(id), "team/web:1"))
		})
	}
}
