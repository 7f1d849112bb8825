package etcd

import (
	"context"
	"fmt"
)

// Status describes the data of one member.
type Status struct {
	Member   uint64 // id of the member
	Revision int64  // of the last change of a key
	Index    uint64 // of the last entry of the log that the member has applied; the greater one is the later one
	Leader   uint64 // id of the member that it follows; 0 without a quorum
}

// Status asks the member at Endpoint for its status. A member without a quorum answers, too.
func (c *Client) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	answer, err := c.etcd.Status(ctx, c.config.Endpoint)
	if err != nil {
		return Status{}, fmt.Errorf("etcd: status of %s: %w", c.config.Endpoint, err)
	}
	return Status{answer.Header.GetMemberId(), answer.Header.GetRevision(), answer.RaftAppliedIndex, answer.Leader}, nil
}
