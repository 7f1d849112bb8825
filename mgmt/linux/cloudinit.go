package linux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/sshexec"
)

// AwaitBoot waits until one can log in and cloud-init has finished, on a machine that has it: until then cloud-init
// rewrites package sources, installs packages and may restart the machine. complaints is what cloud-init reports of
// errors; they do not make AwaitBoot fail, since cloud-init counts a failed module as an error of the whole boot.
func (m Machine) AwaitBoot(ctx context.Context) (complaints string, err error) {
	restarting := func(err error) bool {
		return errors.Is(err, sshexec.ErrDisconnected) || errors.Is(err, sshexec.ErrConnect)
	}
	err = retry.Policy{First: 250 * time.Millisecond, Most: 5 * time.Second, If: restarting}.Do(ctx, func() (err error) {
		if err = m.SSH.Wait(ctx); err == nil {
			complaints, err = m.awaitCloudInit(ctx)
		}
		return err
	})
	return complaints, err
}

// awaitCloudInit does not use root: users exist before sudo accepts them.
func (m Machine) awaitCloudInit(ctx context.Context) (complaints string, err error) {
	err = m.SSH.Exec(ctx, sshexec.Command{Shell: "command -v cloud-init >/dev/null"})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && (exit.Code == 1 || exit.Code == 127) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	wait := retry.Begin(ctx, "the end of cloud-init on "+m.SSH.Name())
	defer wait.End()
	if _, err = m.cloudInitStatus(ctx, "--wait"); err == nil {
		return "", nil
	}
	if complains(err) {
		// Version 22.4 (Debian 12) does not wait once a module has failed, although other modules still run.
		if err = m.awaitCloudInitResult(ctx); err == nil {
			complaints, err = m.cloudInitStatus(ctx)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		status, _ := m.cloudInitStatus(asked)
		return "", fmt.Errorf("cloud-init has not finished on %s (%s): %w", m.SSH.Name(), status, err)
	}
	if complains(err) {
		return complaints, nil
	}
	return "", err
}

// complains reports whether cloud-init status has ended with 1, cloud-init failed, or 2, modules failed (cloud-init, "Exit codes").
func complains(err error) bool {
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	return ok && exit.Signal == ""
}

// awaitCloudInitResult waits for the file that cloud-init writes when its last stage has ended.
func (m Machine) awaitCloudInitResult(ctx context.Context) error {
	return retry.Policy{First: 100 * time.Millisecond, Most: 2 * time.Second, If: complains, For: "the end of cloud-init"}.Do(ctx, func() error {
		return m.SSH.Exec(ctx, sshexec.Command{Argv: []string{"test", "-e", "/run/cloud-init/result.json"}})
	})
}

// maxCloudInitStatus bounds the text of a status in an error.
const maxCloudInitStatus = 2 << 10

// cloudInitStatus is what cloud-init reports, in one line. While it waits it prints a line of dots.
func (m Machine) cloudInitStatus(ctx context.Context, options ...string) (string, error) {
	out, err := m.SSH.Output(ctx, sshexec.Command{Argv: slices.Concat([]string{"cloud-init", "status", "--long"}, options)})
	var lines []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(strings.TrimLeft(line, ".")); line != "" {
			lines = append(lines, line)
		}
	}
	return bounded.Text(strings.Join(lines, "; "), maxCloudInitStatus), err
}

// hostsSetting reads whether cloud-init manages /etc/hosts, from the setting with the lowest to the one with the
// highest priority: the system's, the vendor's, the user's (cloud-init, "Configuration sources").
const hostsSetting = `grep -hs '^manage_etc_hosts:' /etc/cloud/cloud.cfg /etc/cloud/cloud.cfg.d/*.cfg ` +
	`/var/lib/cloud/instance/vendor-cloud-config.txt /var/lib/cloud/instance/vendor2-cloud-config.txt ` +
	`/var/lib/cloud/instance/cloud-config.txt; true`

// HostsTemplate returns the file from which cloud-init writes /etc/hosts at every start of the machine, "" if it does
// not: only the content of the template stays in /etc/hosts. It returns an error if the template is missing.
func (m Machine) HostsTemplate(ctx context.Context) (name string, err error) {
	settings, err := m.Output(ctx, sshexec.Command{Shell: hostsSetting})
	if err != nil || !rendersHosts(settings) {
		return "", err
	}
	release, _, err := m.Read(ctx, "/etc/os-release")
	if err != nil {
		return "", err
	}
	name = "/etc/cloud/templates/hosts." + osFamily(release) + ".tmpl"
	exists, err := m.Succeeds(ctx, "test", "-f", name)
	if err == nil && !exists {
		err = fmt.Errorf("cloud-init writes /etc/hosts of %s at every start (manage_etc_hosts: true), but there is no %s that could keep the names of the nodes: "+
			"set manage_etc_hosts to false in the image or in user_data", m.SSH.Name(), name)
	}
	if err != nil {
		return "", err
	}
	return name, nil
}

// rendersHosts reports whether the last of these settings has cloud-init write the whole file (cloud-init,
// cc_update_etc_hosts). "localhost" is for one line, which is not ours.
func rendersHosts(settings []byte) bool {
	lines := strings.Split(strings.TrimSpace(string(settings)), "\n")
	_, value, _ := strings.Cut(lines[len(lines)-1], ":")
	value, _, _ = strings.Cut(value, " #")
	return slices.Contains([]string{"true", "yes", "on", "1", "template"}, strings.ToLower(strings.Trim(value, " \t\r'\"")))
}

// osFamily is how cloud-init calls the family of a system in the names of its templates.
func osFamily(release []byte) string {
	r := osRelease(release)
	for _, id := range strings.Fields(r["ID"] + " " + r["ID_LIKE"]) {
		switch id {
		case "debian", "ubuntu":
			return "debian"
		case "rhel", "fedora":
			return "redhat"
		}
	}
	return r["ID"]
}
