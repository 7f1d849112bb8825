package clustertest

import (
	"sync/atomic"
	"time"
)

// Clock is the clock of a world, which can differ from that of this machine. It is safe for concurrent use.
type Clock struct{ off atomic.Int64 }

// Now is for sandbox.Config.Now.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// Set has the clock be off by that.
func (c *Clock) Set(off time.Duration) { c.off.Store(int64(off)) }
