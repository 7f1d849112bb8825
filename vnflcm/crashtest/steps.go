package crashtest

import (
	"context"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Steps records the steps of undisturbed operations, in the order in which they began.
type Steps struct {
	mu   sync.Mutex
	list []vnflcm.StepInfo
}

// Record has a Manager record its steps.
func (s *Steps) Record(c *vnflcm.Config) {
	c.Intercept = around(func(ctx context.Context, info vnflcm.StepInfo, next func(context.Context) error) error {
		s.mu.Lock()
		s.list = append(s.list, info)
		s.mu.Unlock()
		return next(ctx)
	}, c.Intercept)
}

// List returns them.
func (s *Steps) List() []vnflcm.StepInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}
