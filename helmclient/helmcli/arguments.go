package helmcli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
)

// defaultTimeout is the default of helmclient.Wait.
const defaultTimeout = 5 * time.Minute

func timeout(w helmclient.Wait) time.Duration {
	if w.Timeout == 0 {
		return defaultTimeout
	}
	return w.Timeout
}

func waitArguments(w helmclient.Wait) ([]string, error) {
	if w.Timeout < 0 {
		return nil, fmt.Errorf("%w: timeout %v", helmclient.ErrInvalid, w.Timeout)
	}
	args := []string{"--timeout=" + timeout(w).String()}
	if w.Ready {
		args = append(args, "--wait")
	}
	if w.Jobs {
		args = append(args, "--wait-for-jobs")
	}
	return args, nil
}

// installArguments returns the arguments that install and upgrade share, without chart, version, values and
// post-renderer.
func installArguments(r helmclient.Install) ([]string, error) {
	args, err := waitArguments(r.Wait)
	if err != nil {
		return nil, err
	}
	labels, err := labelArgument(r.Labels)
	if err != nil {
		return nil, err
	}
	switch r.CRDs {
	case helmclient.CRDCreate:
	case helmclient.CRDSkip, helmclient.CRDCreateReplace:
		args = append(args, "--skip-crds")
	default:
		return nil, fmt.Errorf("%w: CRD policy %q", helmclient.ErrInvalid, r.CRDs)
	}
	if labels != "" {
		args = append(args, "--labels="+labels)
	}
	if r.CreateNamespace {
		args = append(args, "--create-namespace")
	}
	if r.Atomic {
		args = append(args, "--atomic")
	}
	if r.Description != "" {
		args = append(args, "--description="+r.Description)
	}
	return args, nil
}

func upgradeArguments(r helmclient.Upgrade) ([]string, error) {
	args, err := installArguments(r.Install)
	if err != nil {
		return nil, err
	}
	switch r.Reuse {
	case helmclient.ReuseNone:
	case helmclient.ReuseValues:
		args = append(args, "--reuse-values")
	case helmclient.ReuseReset:
		args = append(args, "--reset-values")
	case helmclient.ReuseThen:
		args = append(args, "--reset-then-reuse-values")
	default:
		return nil, fmt.Errorf("%w: reuse %q", helmclient.ErrInvalid, r.Reuse)
	}
	if r.MaxHistory < 0 {
		return nil, fmt.Errorf("%w: MaxHistory %d", helmclient.ErrInvalid, r.MaxHistory)
	}
	args = append(args, "--history-max="+strconv.Itoa(r.MaxHistory))
	if r.OrInstall {
		args = append(args, "--install")
	}
	if r.CleanupOnFail {
		args = append(args, "--cleanup-on-fail")
	}
	return args, nil
}

func rollbackArguments(r helmclient.Rollback) ([]string, error) {
	args, err := waitArguments(r.Wait)
	if err != nil {
		return nil, err
	}
	if r.Revision < 0 {
		return nil, fmt.Errorf("%w: revision %d", helmclient.ErrInvalid, r.Revision)
	}
	return append(args, "--history-max=0"), nil
}

func uninstallArguments(r helmclient.Uninstall) ([]string, error) {
	if r.Timeout < 0 {
		return nil, fmt.Errorf("%w: timeout %v", helmclient.ErrInvalid, r.Timeout)
	}
	args := []string{"--timeout=" + timeout(r.Wait).String(), "--cascade=background"}
	if r.Ready {
		args = append(args, "--wait")
	}
	if r.KeepHistory {
		args = append(args, "--keep-history")
	}
	if r.Description != "" {
		args = append(args, "--description="+r.Description)
	}
	return args, nil
}
