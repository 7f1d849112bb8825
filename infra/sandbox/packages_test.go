package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestPackages: packages of the Config are installed as others are, with their units, files and programs.
func TestPackages(t *testing.T) {
	t.Parallel()
	s := open(t, sandbox.Config{
		Packages: map[string]sandbox.Package{
			"nginx": {Services: []string{"nginx"}, Files: map[string]string{"/etc/nginx/nginx.conf": "user www-data;\n", "/etc/motd": "new"},
				Commands: map[string]sshtest.Command{"nginx": func(_ context.Context, p *sshtest.Process) int {
					_, _ = fmt.Fprintln(p.Stdout, "nginx version: 1.22.1")
					return 0
				}}},
			"tor": {Version: "0.4.7-1"},
			"gpg": {},
		},
		Services: []string{"ntp"}, Missing: []string{"gpg"},
	})
	m := s.machines(s.instance(0))["workerNode-0"]
	host := s.login(m.Address, "ubuntu", "ubuntu")
	for _, tc := range []struct{ line, want, fails string }{
		{line: "apt-get install -y nginx", fails: "Unable to locate package nginx"}, // no lists yet
		{line: "apt-get update"},
		{line: "nginx -v", fails: "command not found"},
		{line: "systemctl start nginx", fails: "not found"},
		{line: "systemctl is-active ntp", want: "inactive\n", fails: "exit"},
		{line: "systemctl start ntp"},
		{line: "systemctl is-active ntp"},
		{line: "apt-cache madison tor", want: "       tor | 0.4.7-1-1.1 | https://packages.example/deb  Packages\n"},
		{line: "apt-get install -y gpg", fails: "Unable to locate package gpg"},
		{line: "apt-get install -y --simulate nginx"},
		{line: "cat /etc/nginx/nginx.conf", fails: "No such file"},
		{line: "bash -c echo>/etc/motd"},
		{line: "apt-get install -y tor=0.5.*", fails: "Version '0.5.*' for 'tor' was not found"},
		{line: "apt-get install -y nginx tor=0.4.*"},
		{line: "systemctl is-active nginx"},
		{line: "cat /etc/nginx/nginx.conf", want: "user www-data;\n"},
		{line: "cat /etc/motd", want: "\n"}, // it was there
		{line: "nginx -v", want: "nginx version: 1.22.1\n"},
		{line: "systemctl stop nginx"},
		{line: "systemctl is-active nginx", want: "inactive\n", fails: "exit"},
		{line: "systemctl start tor", fails: "Unit tor.service not found"},
	} {
		var out, complaints bytes.Buffer
		err := host.Exec(t.Context(), sshexec.Command{Argv: strings.Fields(tc.line), Root: true, Stdout: &out, Stderr: &complaints})
		failed := ""
		if err != nil {
			failed = err.Error() + complaints.String()
		}
		if out.String() != tc.want || (tc.fails == "") != (err == nil) || !strings.Contains(failed, tc.fails) {
			t.Errorf("%s: %q, %s; want %q, %q", tc.line, out.String(), failed, tc.want, tc.fails)
		}
	}
}
