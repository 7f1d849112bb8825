package admin

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// vim is a line of the list of VIMs.
type vim struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	State   string `json:"state"` // as in the metrics (docs/monitoring.md)
	Name    string `json:"name,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
	Source  string `json:"source"` // who has registered the entry
	Default bool   `json:"default"`
	InUse   int    `json:"inUse"`           // VNF instances
	Fault   string `json:"fault,omitempty"` // why the login fails
}

// mostChecks is at how many VIMs the command logs in at once.
const mostChecks = 4

func (v *VNFM) vims(ctx context.Context, _ []string) error {
	registry := v.VIMRegistry()
	entries, err := registry.List(ctx, "")
	if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
		return err
	}
	used, errUsed := registry.InUse(ctx, "", entries)
	if errUsed != nil {
		return errUsed
	}
	list := make([]vim, len(entries))
	places := make([]int, len(entries))
	for i, e := range entries {
		places[i] = i
		list[i] = vim{ID: e.VimID, Type: e.VimType, Name: e.Name, Tenant: e.Tenant, Source: sourceOf(e), Default: e.IsDefault, InUse: used[e.VimID]}
	}
	_ = vnflcm.Each(ctx, mostChecks, places, func(ctx context.Context, i int) error {
		list[i].State, list[i].Fault = v.stateOf(ctx, list[i].ID)
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(show(v, list, []string{"id", "type", "state", "name", "tenant", "registered by", "default", "in use", "fault"}, func(e vim) []string {
		return []string{e.ID, e.Type, e.State, e.Name, e.Tenant, e.Source, yesNo(e.Default), strconv.Itoa(e.InUse), e.Fault}
	}), err)
}

// stateOf logs in at a VIM. It returns the state, and why the login fails.
func (v *VNFM) stateOf(ctx context.Context, vimID string) (state, fault string) {
	if v.NoWorld != nil {
		return "unchecked", ""
	}
	err := v.VIMRegistry().Check(ctx, "", vimID)
	param, isFault := errors.AsType[*vnflcm.ParamError](err)
	switch {
	case err == nil:
		return "reachable", ""
	case !isFault:
		return "unchecked", err.Error()
	case param.Path == "vimConnectionInfo.accessInfo":
		return "refused", err.Error()
	case strings.HasSuffix(param.Path, "interfaceInfo.endpoint") && param.Value == "":
		return "unreachable", err.Error()
	}
	return "faulty", err.Error()
}

// sourceOf returns who has registered an entry.
func sourceOf(e *vnflcm.VIM) string {
	switch {
	case e.Cluster != "":
		return "VNF instance " + e.Cluster
	case e.Source != "":
		return e.Source
	case !e.CreatedAt.IsZero():
		return "a client at " + e.CreatedAt.UTC().Format(time.RFC3339)
	}
	return "the program"
}
