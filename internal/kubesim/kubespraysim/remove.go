package kubespraysim

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/ansiblesim"
)

// removeNode is remove-node.yml.
func (s Server) removeNode(ctx context.Context, r *ansiblesim.Run) error {
	named, err := r.Extra("node")
	if err != nil {
		return err
	}
	if named == "" { // up to 2.23 the default is every node
		s.unexpected("remove-node.yml", "without node: it would remove every node")
		return r.Fail("Validate nodes for removal", "Assert that nodes are specified for removal", "No nodes specified for removal. The `node` variable must be set explicitly.")
	}
	n, err := s.begin(r)
	if err != nil {
		return err
	}
	confirmed, err := s.confirmed(r)
	if err != nil {
		return err
	}
	if !confirmed {
		r.Warn("Not waiting for response to prompt as stdin is not interactive")
		return r.Fail("Confirm node removal", "Fail if user does not confirm deletion", "Delete nodes confirmation failed")
	}
	var hosts []string
	for _, host := range strings.FieldsFunc(named, func(c rune) bool { return c == ',' || c == ':' }) {
		switch {
		case host == n.masters[0] || len(n.etcd) > 0 && host == n.etcd[0]:
			s.unexpected("remove-node.yml", "with the first control-plane node or etcd member "+host)
			return r.Fail("Reset node", "remove-node/pre-remove", "the first control-plane node and etcd member cannot be removed")
		case !r.Has(host):
			r.Warn("Could not match supplied host pattern, ignoring: %s", host)
		default:
			hosts = append(hosts, host)
		}
	}
	return s.remove(ctx, r, n, hosts)
}

func (s Server) unexpected(argv ...string) {
	if s.Unexpected != nil {
		s.Unexpected(argv)
	}
}

// confirmed looks for the answer to the question: since 2.17 a pause that skip_confirmation spares, before that a variable that
// is asked for.
func (s Server) confirmed(r *ansiblesim.Run) (bool, error) {
	if s.minor() < 17 {
		answer, err := r.Extra("delete_nodes_confirmation")
		return answer == "yes", err
	}
	skip, err := r.Extra("skip_confirmation")
	return boolean(skip), err
}

// boolean is Ansible's filter "bool".
func boolean(text string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(text))
}

func (s Server) remove(ctx context.Context, r *ansiblesim.Run, n nodes, hosts []string) error {
	reset, err := r.Extra("reset_nodes")
	if err != nil {
		return err
	}
	ungraceful, err := r.Extra("allow_ungraceful_removal")
	if err != nil {
		return err
	}
	resets := reset == "" || boolean(reset)
	if err := s.take(ctx); err != nil {
		return err
	}
	if resets {
		if err := s.gather(ctx, r, n.all); err != nil {
			return err
		}
	}
	p := r.Play("Reset node", hosts)
	if err := p.Delegated(ctx, "remove-node/pre-remove : Remove-node | Drain node except daemonsets resource", n.masters[0], func(ctx context.Context, m *ansiblesim.Host, about string) error {
		there, err := m.Does(ctx, "kubectl", "--kubeconfig", adminConf, "get", "node", about)
		if err != nil {
			return err
		}
		if !there {
			return ansiblesim.ErrSkipped
		}
		_, err = m.Run(ctx, "kubectl", "--kubeconfig", adminConf, "drain", "--force", "--ignore-daemonsets", "--grace-period", "300", "--timeout", "360s", "--delete-emptydir-data", about)
		// Here it is no filter that looks at the variable: any text is true, "false" too.
		if _, failed := errors.AsType[*ansiblesim.Failure](err); failed && ungraceful != "" && ungraceful != "False" {
			return nil
		}
		return changes("", err)
	}); err != nil {
		return err
	}
	if resets {
		if err := p.Task(ctx, "reset : Reset | kubeadm reset", func(ctx context.Context, h *ansiblesim.Host) error {
			return changes(h.Run(ctx, "kubeadm", "reset", "-f"))
		}); err != nil {
			return err
		}
	}
	return r.Play("Post node removal", hosts).Delegated(ctx, "remove-node/post-remove : Remove-node | Delete node", n.masters[0], func(ctx context.Context, m *ansiblesim.Host, about string) error {
		there, err := m.Does(ctx, "kubectl", "--kubeconfig", adminConf, "get", "node", about)
		if err != nil {
			return err
		}
		if !there {
			return ansiblesim.ErrSkipped
		}
		return changes(m.Run(ctx, "kubectl", "--kubeconfig", adminConf, "delete", "node", about))
	})
}
