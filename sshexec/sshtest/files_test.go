package sshtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestHostSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	first := sshtest.Start(t, sshtest.Config{Dir: dir})
	run(t, first, "sudo sh -c 'echo kept > /etc/kept'", "")
	second := sshtest.Start(t, sshtest.Config{Dir: dir, HostKey: first.HostKeyPEM()})
	if out, _ := run(t, second, "cat /etc/kept", ""); out != "kept\n" || first.PublicKey() != second.PublicKey() {
		t.Errorf("got %q", out)
	}
}

func TestOwnersInTmp(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "directory": t.TempDir()} {
		h := sshtest.Start(t, sshtest.Config{Dir: dir, Users: []string{"helper"}})
		out, _ := run(t, h, `cd /tmp; stat -c '%a %U' .; touch mine; sudo touch roots; sudo -u helper touch helpers; mkdir d; sudo -u helper touch d/x; `+
			`stat -c '%U %u' mine roots helpers; rm -f roots; mv helpers x; echo y >helpers; rm -f mine; sudo rm roots; sudo -u helper rm helpers; ls; id -u helper; sudo -u nobody2 true`, "")
		want := "1777 root\nubuntu 1000\nroot 0\nhelper 1003\nd\n1003\n" +
			"touch: /tmp/d/x: Permission denied\nrm: /tmp/roots: Operation not permitted\nmv: /tmp/helpers: Operation not permitted\nsh: helpers: Permission denied\nsudo: unknown user nobody2\n"
		if diff := cmp.Diff(want, strings.ReplaceAll(out, "open helpers: ", "sh: helpers: ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLinksStayOnTheHost(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]sshtest.Config{"memory": {}, "directory": {Dir: dir}} {
		h := sshtest.Start(t, c)
		out, _ := run(t, h, `ln -s /etc/hostname /tmp/l; ln -s ../../../etc /tmp/up; ln -s '`+dir+`' /tmp/out; cat /tmp/l /tmp/up/hostname; ls /tmp/out; `+
			`readlink -f /tmp/up/hostname; cd /tmp/up && pwd -P; sudo rm -r /tmp/up; cat /etc/hostname; mkdir /tmp/d; touch /tmp/d/f; ln -s d /tmp/e; ls /tmp/e; ls -l /tmp/l | cut -d' ' -f1; ls -ld /tmp | cut -d' ' -f1; echo x >/tmp/l`, "")
		want := "host\nhost\n/tmp/out\n/etc/hostname\n/etc\nhost\nf\nlrwxrwxrwx\ndrwxrwxrwt\nopen /tmp/l: Permission denied\n"
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
