package kubeaccess

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxLog bounds the last lines of a container, in bytes.
const maxLog = 4 << 10

// LastLines returns the last lines that a container has written, at most 4 KiB. previous selects the run before the
// current one.
func (c *Connection) LastLines(ctx context.Context, namespace, pod, container string, lines int, previous bool) (string, error) {
	query := url.Values{"container": {container}, "tailLines": {strconv.Itoa(lines)}, "previous": {strconv.FormatBool(previous)}}
	path := fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s/log?%s", strings.TrimSuffix(c.Config.Host, "/"), url.PathEscape(namespace), url.PathEscape(pod), query.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return "", c.broken(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("kubernetes: the log of pod %s/%s: %s", namespace, pod, answer.Status)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", c.broken(err)
	}
	return strings.ToValidUTF8(string(text[max(0, len(text)-maxLog):]), ""), nil
}
