package nfvo

import (
	"io"
	"time"
)

// SetPause sets the pause before the second attempt of a download, and how long a call waits for a Retry-After.
func (c *PackageCache) SetPause(d time.Duration) { c.pause = d }

// ParseContentRange and ParseNotification are for fuzz tests.
var (
	ParseContentRange = parseContentRange
	ParseNotification = func(body io.Reader) error { _, err := parseNotification(body); return err }
)
