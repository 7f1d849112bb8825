package inprocess

import (
	"maps"
	"slices"
	"sync"
)

// PerNamespace keeps a driver of Helm's storage for each namespace: which one it works for is state of the driver.
type PerNamespace[D any] struct {
	mu      sync.Mutex
	drivers map[string]D
}

// Driver returns the driver of a namespace, and makes it when it is asked for the first time.
func (p *PerNamespace[D]) Driver(namespace string, create func() (D, error)) (D, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, ok := p.drivers[namespace]; ok {
		return d, nil
	}
	d, err := create()
	if err != nil {
		return d, err
	}
	if p.drivers == nil {
		p.drivers = map[string]D{}
	}
	p.drivers[namespace] = d
	return d, nil
}

// Namespaces returns the namespaces that have a driver.
func (p *PerNamespace[D]) Namespaces() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.drivers))
}
