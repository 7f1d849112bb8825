package cloud

import (
	"context"
	"net/http"
	"net/url"
)

// Project returns the cloud as a user sees it who is a member of one project, as the users of a VNFM are: without the rights of an
// administrator, and with nothing of what tests in other projects make. Project creates both with the name. If an earlier run has
// created them, it deletes their stacks.
func (c *Cloud) Project(ctx context.Context, name string) (*Cloud, error) {
	member := *c
	member.user, member.project = name, name
	known, err := find(ctx, c.Identity, "projects?name="+url.QueryEscape(name), name)
	if err == nil && known == "" {
		err = c.addMember(ctx, name)
	}
	if err == nil {
		err = member.login(ctx)
	}
	if err == nil && known != "" {
		err = member.Clear(ctx)
	}
	return &member, err
}

// addMember creates a project and a user who is a member of it.
func (c *Cloud) addMember(ctx context.Context, name string) error {
	role, err := find(ctx, c.Identity, "roles", "member")
	var project struct{ Project item }
	if err == nil {
		err = call(ctx, c.Identity, http.MethodPost, map[string]any{"project": map[string]any{"name": name, "domain_id": "default"}}, &project, "projects")
	}
	var user struct{ User item }
	if err == nil {
		err = call(ctx, c.Identity, http.MethodPost, map[string]any{"user": map[string]any{"name": name, "domain_id": "default", "password": password}}, &user, "users")
	}
	if err != nil {
		return err
	}
	return call(ctx, c.Identity, http.MethodPut, nil, nil, "projects", project.Project.ID, "users", user.User.ID, "roles", role)
}
