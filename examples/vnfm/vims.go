package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// vims are the VIMs of the configuration.
func (c *config) vims() (out vnflcm.VimConnections, err error) {
	list := c.VIMs
	if c.onSandbox {
		list = append(slices.Clone(list), vimConfig{ID: "sandbox", Type: "sandbox"})
		for id, kind := range c.Sandbox.VIMs {
			list = append(list, vimConfig{ID: id, Type: kind})
		}
	}
	for i, vim := range list {
		if vim.isCluster() {
			continue
		}
		info, err := vim.connection()
		if err != nil {
			return nil, fmt.Errorf("vims[%d]: %w", i, err)
		}
		out = append(out, info)
	}
	return out, nil
}

// shareVIMs shares clusters, and gives each tenant the first VIM of the configuration that it may use as its default.
func (v *vnfm) shareVIMs(ctx context.Context, known vnflcm.VimConnections) error {
	for i, vim := range v.config.VIMs {
		if vim.isCluster() {
			if err := v.shareCluster(ctx, vim); err != nil {
				return fmt.Errorf("vims[%d]: %w", i, err)
			}
		}
	}
	for _, tenant := range v.config.tenants() {
		if i := slices.IndexFunc(known, func(info vnflcm.VimConnectionInfo) bool { return info.UsableBy(tenant) }); i >= 0 {
			if err := v.VIMs().SetDefault(ctx, tenant, known[i].VimID); err != nil {
				return err
			}
		}
	}
	return nil
}

// shareCluster changes which tenants may use a cluster. A cluster that is not registered is passed over with a warning.
func (v *vnfm) shareCluster(ctx context.Context, vim vimConfig) error {
	list, err := v.VIMs().List(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(known vnflcm.VimConnectionInfo) bool { return known.VimID == vim.ID })
	if i < 0 {
		v.log.WarnContext(ctx, "a VIM that is to be shared is not registered", "vim", vim.ID)
		return nil
	}
	return v.VIMs().SetShare(ctx, list[i].Tenant, vim.ID, vim.share())
}
