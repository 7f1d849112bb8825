package kubesim

import (
	"net"
	"sync"
)

// Ports are those at which machines serve something, but for SSH and what haproxy, Services and containers are configured to.
func Ports() []string { return []string{etcdPort, apiPort, "16443"} }

// Serve serves a port of a machine to real network connections, until stop is called. While nothing listens there in
// the simulation, connections are closed at once.
func (w *World) Serve(id, number string, l net.Listener) (stop func()) {
	s := &service{open: map[net.Conn]bool{}}
	s.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(w, id, number, conn) })
		}
	})
	return func() {
		_ = l.Close()
		s.close()
		s.running.Wait()
	}
}

// service is what is served over real connections.
type service struct {
	running sync.WaitGroup
	mu      sync.Mutex
	open    map[net.Conn]bool
	ended   bool
}

func (s *service) serve(w *World, id, number string, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	s.mu.Lock()
	s.open[conn] = true
	ended := s.ended
	s.mu.Unlock()
	var answer port
	w.locked(func() {
		if m := w.state.Machines[id]; m != nil && !m.Down {
			answer = w.portOf(m, number)
		}
	})
	if answer != nil && !ended {
		answer(id, conn)
	}
	s.mu.Lock()
	delete(s.open, conn)
	s.mu.Unlock()
}

func (s *service) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for conn := range s.open {
		_ = conn.Close()
	}
}
