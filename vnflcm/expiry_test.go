package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const aDay = 24 * time.Hour

// issuing is a MgmtDriver whose machines have certificates, which it renews.
type issuing struct {
	vnflcm.NoopDriver
	life time.Duration // validity of new certificates
	from time.Time     // NotBefore of all certificates, because kubeadm uses that of the authority; zero: the time of issue

	mu         sync.Mutex
	ends       map[string]map[string]time.Time // by instance and VNFC
	authority  map[string]time.Time            // by instance: end of an authority that servers present
	unread     map[string]error                // error of reading, by VNFC
	logins     int
	handshakes int
	renewals   []string              // instances in the order of their renewals
	failing    error                 // error of each renewal
	broken     []string              // instances whose renewals fail
	useless    bool                  // renewals change nothing
	refused    string                // an instance whose requests are refused
	during     func(context.Context) // called during each renewal
	odd        []vnflcm.Certificate  // additional certificates
}

func newIssuing(life time.Duration) *issuing {
	return &issuing{life: life, ends: map[string]map[string]time.Time{}, authority: map[string]time.Time{}, unread: map[string]error{}}
}

func (d *issuing) Hooks() vnflcm.Hooks {
	hooks := d.NoopDriver.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(_ context.Context, op *vnflcm.Operation) error { return d.issue(op.InstanceID, op.VNFCs) }
	hooks[vnflcm.HealEnd] = func(_ context.Context, op *vnflcm.Operation) error { return d.issue(op.InstanceID, op.Change.Replaced) }
	return hooks
}

func (d *issuing) issue(instanceID string, list []vnflcm.VNFC) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ends[instanceID] == nil {
		d.ends[instanceID] = map[string]time.Time{}
	}
	for _, v := range list {
		d.ends[instanceID][v.ID] = time.Now().Add(d.life)
	}
	return nil
}

func (d *issuing) Validate(_ context.Context, op *vnflcm.Operation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if op.InstanceID == d.refused {
		return &vnflcm.ParamError{Path: "additionalParams.node", Reason: "is wrong"}
	}
	return nil
}

func (d *issuing) Maintains(task vnflcm.MaintenanceTask) bool {
	return task == vnflcm.RenewCertificates
}

func (d *issuing) Maintain(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Do(ctx, op, "renew", "", func(ctx context.Context) error {
		d.mu.Lock()
		during, failing, useless := d.during, d.failing, d.useless
		if slices.Contains(d.broken, op.InstanceID) {
			failing = errCut
		}
		d.renewals = append(d.renewals, op.InstanceID)
		d.mu.Unlock()
		if during != nil {
			during(ctx)
		}
		if err := errors.Join(failing, context.Cause(ctx)); err != nil || useless {
			return err
		}
		return d.issue(op.InstanceID, op.VNFCs)
	})
}

func (d *issuing) certificates(op *vnflcm.Operation) (out []vnflcm.Certificate, err error) {
	var faults []error
	for _, v := range op.VNFCs {
		if fault := d.unread[v.ID]; fault != nil {
			faults = append(faults, fault)
			continue
		}
		end := d.ends[op.InstanceID][v.ID]
		from := end.Add(-d.life)
		if !d.from.IsZero() {
			from = d.from
		}
		out = append(out, vnflcm.Certificate{On: v.ID, Machine: v.Name, Name: "server.crt", NotBefore: from, NotAfter: end})
	}
	return append(out, d.odd...), errors.Join(faults...)
}

func (d *issuing) Certificates(_ context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.logins++
	return d.certificates(op)
}

func (d *issuing) ServedCertificates(_ context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handshakes++
	out, err := d.certificates(op)
	if end, is := d.authority[op.InstanceID]; is {
		out = append(out, vnflcm.Certificate{Name: "ca.crt", NotAfter: end, IsCA: true})
	}
	return out, err
}

func (d *issuing) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// calls returns the number of reads of certificates with a login and without a login.
func (d *issuing) calls() [2]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return [2]int{d.logins, d.handshakes}
}

func (d *issuing) renewed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.renewals)
}

// issued is a Manager with a driver that has certificates.
type issued struct {
	*toys
	driver *issuing
	log    *safeBuffer
	mu     sync.Mutex
	events []string
}

func newIssued(t *testing.T, life time.Duration, change func(*vnflcm.Config)) *issued {
	t.Helper()
	x := &issued{driver: newIssuing(life), log: &safeBuffer{}}
	x.toys = newToys(t, func(c *vnflcm.Config) {
		c.Mgmt, c.Logger = map[string]vnflcm.MgmtDriver{"cluster": x.driver}, slog.New(slog.NewTextHandler(x.log, nil))
		c.Observe = func(e vnflcm.Event) {
			if e.Kind == vnflcm.CertificatesEnd {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.events = append(x.events, e.Message)
			}
		}
		if change != nil {
			change(c)
		}
	})
	return x
}

func (x *issued) observed() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.events)
}

// later ends the process and starts another process after d.
func (x *issued) later(d time.Duration) {
	x.t.Helper()
	closeManager(x.t, x.Manager)
	time.Sleep(d)
	x.start()
	time.Sleep(readDelay)
}

// run runs a process for d.
func (x *issued) run(d time.Duration) {
	x.t.Helper()
	m, err := vnflcm.New(x.t.Context(), x.cfg)
	must(x.t, err)
	x.Manager = m
	time.Sleep(d)
	closeManager(x.t, m)
}

func (x *issued) status(id string) *vnflcm.CertificateStatus {
	x.t.Helper()
	status, err := x.CertificateStatus(x.t.Context(), id)
	must(x.t, err)
	return status
}

// names returns the names of the known certificates.
func (x *issued) names(id string) (out []string) {
	x.t.Helper()
	for _, c := range x.status(id).Certificates {
		out = append(out, c.On+"/"+c.Name)
	}
	slices.Sort(out)
	return out
}

// announced returns the certificates of each announcement in the feed.
func (x *issued) announced() (out []string) {
	x.t.Helper()
	changes, _, err := x.Changes(x.t.Context(), "", 10_000)
	must(x.t, err)
	for _, c := range changes {
		if c.Kind != vnflcm.InstanceCertificatesEnd {
			continue
		}
		var names []string
		for _, certificate := range c.Certificates {
			names = append(names, certificate.On+"/"+certificate.Name)
		}
		slices.Sort(names)
		out = append(out, strings.Join(names, " "))
	}
	return out
}

func (x *issued) count(kind string) int {
	x.t.Helper()
	list, err := x.cfg.Store.List(x.t.Context(), store.Query{Kind: kind})
	must(x.t, err)
	return len(list)
}

const readDelay = 2 * time.Minute // time after an operation within which its certificates have been read

// TestCertificateStatus checks that certificates are read with a login after an operation, and daily without a login, and that their
// records are removed with the machine and with the instance.
func TestCertificateStatus(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 300*aDay, nil)
		created, id := x.create(), x.instantiated("plain")
		if _, err := x.CertificateStatus(t.Context(), "none"); !errors.Is(err, vnflcm.ErrNotFound) {
			t.Errorf("an unknown instance: %v", err)
		}
		if s := x.status(created); len(s.Certificates) > 0 || !s.Next.IsZero() {
			t.Errorf("an instance without machines: %+v", s)
		}
		x.driver.set(func() { x.driver.authority[id] = time.Now().Add(3000 * aDay) })
		time.Sleep(readDelay)
		want := []string{"/ca.crt", "master-0/server.crt", "worker-0/server.crt", "worker-1/server.crt"}
		if diff := cmp.Diff(want, x.names(id)); diff != "" || x.driver.calls() != [2]int{1, 1} {
			t.Errorf("%v calls, certificates:\n%s", x.driver.calls(), diff)
		}
		if c := x.status(id).Certificates[0]; c.Machine != "master0" || c.NotBefore.IsZero() || time.Since(c.Read) > readDelay {
			t.Errorf("the first certificate is %+v", c)
		}
		x.later(aDay)
		if x.driver.calls() != [2]int{1, 2} {
			t.Errorf("%v calls after a day", x.driver.calls())
		}
		opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleIn, 1))
		x.wait(opID, err, vnflcm.Completed)
		opID, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{Metadata: vnflcm.KeyValuePairs{"a": "b"}}, "")
		x.wait(opID, err, vnflcm.Completed)
		time.Sleep(readDelay)
		if diff := cmp.Diff(want[:3], x.names(id)); diff != "" || x.driver.calls() != [2]int{2, 3} {
			t.Errorf("%v calls after scaling in, certificates:\n%s", x.driver.calls(), diff)
		}
		opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		x.wait(opID, err, vnflcm.Completed)
		time.Sleep(readDelay)
		if n := x.count("certificates"); n != 0 || len(x.status(id).Certificates) > 0 || x.count("lease") != 0 {
			t.Errorf("%d records are left, %d leases", n, x.count("lease"))
		}
	})
}

// TestAbandonCertificates checks that an abandoned instance leaves no record of certificates.
func TestAbandonCertificates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, aDay, nil)
		id := x.instantiated("plain")
		_, err := x.Abandon(t.Context(), id)
		must(t, err)
		if n := x.count("certificates"); n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}

// TestCertificatesOfEarlierVersions checks that an instance without a record gets a record when a process starts, and that its
// certificates are read without a login. No record is added for a driver without certificates. A record of a deleted instance is removed.
func TestCertificatesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 300*aDay, nil)
		own := x.cfg.Mgmt
		x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooksOnly{x.driver}} // an earlier version
		x.start()
		id := x.instantiated("plain")
		bare := x.create()
		x.instantiate(bare, "bare", vnflcm.Completed)
		time.Sleep(readDelay)
		if n := x.count("certificates"); n != 0 {
			t.Fatalf("%d records without a reader", n)
		}
		closeManager(t, x.Manager)
		x.cfg.Mgmt = own
		must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "certificates", ID: "gone", Body: []byte("damaged"), Index: store.Index{Start: 1}}}}))
		x.run(readDelay)
		if len(x.names(id)) != 3 || x.driver.calls() != [2]int{0, 1} || x.count("certificates") != 2 {
			t.Errorf("%v calls, %d records, certificates %v", x.driver.calls(), x.count("certificates"), x.names(id))
		}
		if s := x.status(bare); len(s.Certificates) > 0 || s.Fault != "" || time.Until(s.Next) < aDay-readDelay {
			t.Errorf("without a reader: %+v", s)
		}
		x.run(readDelay)
		if x.driver.calls() != [2]int{0, 1} {
			t.Errorf("%v calls after a restart", x.driver.calls())
		}
	})
}

// TestUnreadCertificates checks that a certificate that cannot be read keeps its last date and is named, with secrets masked. Attempts
// that read nothing are repeated after growing pauses. A damaged record is replaced.
func TestUnreadCertificates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 300*aDay, nil)
		id := x.create()
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"hunter2"}`)})
		x.wait(opID, err, vnflcm.Completed)
		time.Sleep(readDelay)
		read := time.Now()
		x.driver.set(func() { x.driver.unread["worker-0"] = errors.New("no route to worker-0 with hunter2\x1b[2J\u202e") })
		x.later(aDay)
		s := x.status(id)
		if len(s.Certificates) != 3 || s.Fault != "no route to worker-0 with ***\ufffd[2J\ufffd" {
			t.Errorf("%d certificates, fault %q", len(s.Certificates), s.Fault)
		}
		for _, c := range s.Certificates {
			if old := c.Read.Before(read); old != (c.On == "worker-0") {
				t.Errorf("the certificate of %s was read at %v", c.On, c.Read)
			}
		}
		x.driver.set(func() {
			for _, on := range []string{"master-0", "worker-0", "worker-1"} {
				x.driver.unread[on] = fmt.Errorf("no route to %s", on)
			}
		})
		x.later(aDay)
		before := x.driver.calls()
		time.Sleep(time.Hour) // pauses of 5, 10, 20 and 40 minutes
		if n := x.driver.calls()[1] - before[1]; n < 2 || n > 5 || len(x.status(id).Certificates) != 3 {
			t.Errorf("%d attempts within an hour, status %+v", n, x.status(id))
		}
		list, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "certificates"})
		must(t, err)
		list[0].Body = []byte("damaged")
		must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: list}))
		x.driver.set(func() { clear(x.driver.unread) })
		x.later(aDay)
		if s := x.status(id); len(s.Certificates) != 3 || s.Fault != "" {
			t.Errorf("afterwards: %+v", s)
		}
		if strings.Contains(x.log.String(), "hunter2") || !strings.Contains(x.log.String(), "cannot be read") {
			t.Errorf("the log:\n%s", x.log)
		}
	})
}

// TestCertificatesAreStored checks that Certificates stores the certificates that it reads, and announces those that end soon.
func TestCertificatesAreStored(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 300*aDay, func(c *vnflcm.Config) { c.AcceptOnly = true })
		y := x.other(func(c *vnflcm.Config) { c.AcceptOnly = false })
		id := y.instantiated("plain")
		closeManager(t, y.Manager)
		time.Sleep(299*aDay + 1)
		list, err := x.Certificates(t.Context(), id)
		must(t, err)
		if s := x.status(id); len(list) != 3 || len(s.Certificates) != 3 || len(x.announced()) != 1 || x.observed() != 1 {
			t.Errorf("%d certificates, status %+v, announced %q", len(list), s, x.announced())
		}
	})
}

// TestAnnouncements checks that each limit is announced once, and again after a renewal. If several limits have passed while no process
// ran, only the last limit is announced.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, nil)
		id := x.instantiated("plain")
		x.driver.set(func() { x.driver.authority[id] = time.Now().Add(365*aDay + time.Hour) })
		time.Sleep(readDelay)
		closeManager(t, x.Manager)
		const all, authority = "master-0/server.crt worker-0/server.crt worker-1/server.crt", "/ca.crt"
		end := x.status(id).Certificates[0].NotAfter
		var want []string
		for _, c := range []struct {
			left  time.Duration // from the start of a process to the end of the servers' certificates
			want  []string
			limit string // limit in the gauge of package telemetry
		}{
			{364 * aDay, []string{authority}, "365"},
			{62 * aDay, nil, "365"},
			{60 * aDay, []string{all}, "60"},
			{59 * aDay, []string{authority}, "60"},
			{58 * aDay, nil, "60"},
			{20 * aDay, []string{"/ca.crt " + all}, "30"},
			{5 * aDay, []string{"/ca.crt " + all}, "7"},
			{-aDay, []string{"/ca.crt " + all}, "0"},
			{-30 * aDay, nil, "0"},
		} {
			time.Sleep(time.Until(end.Add(-c.left)) + time.Second)
			x.run(readDelay)
			x.run(readDelay)
			want = append(want, c.want...)
			if diff := cmp.Diff(want, x.announced()); diff != "" {
				t.Fatalf("%v before the end:\n%s", c.left, diff)
			}
			stored, err := x.cfg.Store.Get(t.Context(), "certificates", id)
			must(t, err)
			if stored.Index.State != c.limit {
				t.Errorf("%v before the end: the limit %q", c.left, stored.Index.State)
			}
		}
		x.start()
		opID, err := x.Maintain(t.Context(), id, vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates})
		x.wait(opID, err, vnflcm.Completed)
		time.Sleep(readDelay)
		closeManager(t, x.Manager)
		time.Sleep(350 * aDay)
		x.run(readDelay)
		if diff := cmp.Diff(append(want, all), x.announced()); diff != "" || x.observed() != len(want)+1 || strings.Count(x.log.String(), `"certificates end"`) != len(want)+1 {
			t.Errorf("%d events, after a renewal:\n%s", x.observed(), diff)
		}
	})
}

// TestCertificatesOfStoppedVNFs: the ends of certificates of a stopped VNF are neither announced nor counted, and the window leaves it out. After
// the start they are announced.
func TestCertificatesOfStoppedVNFs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 100*aDay, nil)
		id := x.instantiated("plain")
		time.Sleep(readDelay)
		opID, err := x.Operate(t.Context(), id, stop)
		x.wait(opID, err, vnflcm.Completed)
		closeManager(t, x.Manager)
		time.Sleep(95 * aDay)
		x.cfg.Maintenance = vnflcm.MaintenanceWindow{To: 23 * time.Hour}
		x.run(aDay)
		stored, err := x.cfg.Store.Get(t.Context(), "certificates", id)
		must(t, err)
		if got := x.announced(); len(got) > 0 || stored.Index.State != "" || stored.Index.Operation != "" || len(x.driver.renewed()) > 0 || strings.Contains(x.log.String(), "is refused") {
			t.Errorf("announced %q, index %+v, renewed %q\n%s", got, stored.Index, x.driver.renewed(), x.log)
		}
		x.cfg.Maintenance = vnflcm.MaintenanceWindow{}
		x.start()
		opID, err = x.Operate(t.Context(), id, start)
		x.wait(opID, err, vnflcm.Completed)
		time.Sleep(readDelay)
		if got := x.announced(); len(got) != 1 {
			t.Errorf("announced after the start: %q", got)
		}
	})
}

// TestSharedAddress checks servers with different certificates that answer in turn at a shared address. Each certificate is announced
// once.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 3000*aDay, nil)
		id := x.instantiated("plain")
		closeManager(t, x.Manager)
		soon, late := time.Now().Add(300*aDay), time.Now().Add(3000*aDay)
		for range 3 {
			for _, end := range []time.Time{soon, late} {
				x.driver.set(func() { x.driver.authority[id] = end })
				x.run(readDelay)
				time.Sleep(aDay)
			}
		}
		if diff := cmp.Diff([]string{"/ca.crt"}, x.announced()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestNextLimit checks that certificates are read again when a limit passes, and not only once a day.
func TestNextLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 30*time.Minute, nil)
		id := x.instantiated("plain")
		time.Sleep(readDelay)
		if next := time.Until(x.status(id).Next); next > 20*time.Minute {
			t.Errorf("the next look is in %v", next)
		}
		x.driver.set(func() { x.driver.authority[id] = time.Now().Add(time.Hour) })
		time.Sleep(2 * time.Hour)
		if n := x.driver.calls()[1]; n > 10 {
			t.Errorf("%d looks within two hours", n)
		}
	})
}

// lossyStore loses batches with announcements, or only the answers to them.
type lossyStore struct {
	store.Store
	mu     sync.Mutex
	losses []bool // for each of the next batches: whether it is written
}

func (s *lossyStore) Apply(ctx context.Context, b store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	announces := slices.ContainsFunc(b.Put, func(r store.Record) bool { return r.Kind == "certificates" }) && len(b.Append) > 0 &&
		!slices.ContainsFunc(b.Put, func(r store.Record) bool { return r.Kind == "operation" })
	if !announces || len(s.losses) == 0 {
		return s.Store.Apply(ctx, b)
	}
	written := s.losses[0]
	s.losses = s.losses[1:]
	if written {
		if err := s.Store.Apply(ctx, b); err != nil {
			return err
		}
	}
	return errAway
}

// TestAnnouncedOnce checks that an announcement is neither lost nor repeated if a process dies between reading and storing, or after
// storing.
func TestAnnouncedOnce(t *testing.T) {
	t.Parallel()
	for _, losses := range [][]bool{{false}, {true}, {false, false, true}} {
		inBubble(t, func(t *testing.T) {
			x := newIssued(t, 60*aDay, nil)
			store := &lossyStore{Store: x.cfg.Store, losses: losses}
			x.cfg.Store = store
			x.instantiated("plain")
			closeManager(t, x.Manager)
			time.Sleep(50 * aDay)
			for range len(losses) + 2 {
				x.run(readDelay) // each another process
			}
			if got := x.announced(); len(got) != 1 || len(store.losses) > 0 {
				t.Errorf("losses %v: announced %q", losses, got)
			}
		})
	}
}

// TestAnnouncedByOneProcess checks that only one of two processes on the same store announces.
func TestAnnouncedByOneProcess(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, x *issued) {
		t.Helper()
		ids := []string{x.instantiated("plain"), x.instantiated("plain"), x.instantiated("plain")}
		closeManager(t, x.Manager)
		x.driver.set(func() {
			for _, id := range ids {
				for on := range x.driver.ends[id] {
					x.driver.ends[id][on] = time.Now().Add(20 * aDay)
				}
			}
		})
		stored, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "certificates"})
		must(t, err)
		must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Delete: stored})) // without a record, reading is due
		for range 3 {
			x.Manager = x.other(nil).Manager
		}
		await(t, "all are announced", func() bool {
			read := 0
			for _, id := range ids {
				read += len(x.status(id).Certificates)
			}
			return read == 9
		})
		if got := x.announced(); len(got) != 3 || x.driver.calls()[1] != 3 {
			t.Errorf("%v calls, announced %q", x.driver.calls(), got)
		}
	}
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T) {
			check(t, newIssued(t, 365*aDay, func(c *vnflcm.Config) { c.LeaseTTL = renewTTL }))
		})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, newIssued(t, 365*aDay, func(c *vnflcm.Config) { c.Store, c.LeaseTTL = openSQLite(t), 10*time.Second }))
	})
}

// TestHostileCertificates checks that the data of machines is limited and stored as valid text.
func TestHostileCertificates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, nil)
		id := x.instantiated("plain")
		x.driver.set(func() {
			for i := range 10_000 {
				x.driver.odd = append(x.driver.odd, vnflcm.Certificate{On: "worker-0", Name: fmt.Sprintf("%d\x00\xff\x1b[31m\n%s", i, strings.Repeat("ü", 1000)), NotAfter: time.Now().Add(time.Hour)})
			}
			x.driver.odd = append(x.driver.odd,
				vnflcm.Certificate{On: "nowhere", Name: "of no machine", NotAfter: time.Now()},
				vnflcm.Certificate{On: "worker-1", Name: "late", NotAfter: time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC)},
				vnflcm.Certificate{On: "worker-1", Name: "early", NotBefore: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(-4, 1, 1, 0, 0, 0, 0, time.UTC)})
		})
		time.Sleep(readDelay)
		s := x.status(id)
		if n := len(s.Certificates); n != 100+1+3 {
			t.Fatalf("%d certificates", n)
		}
		if first, last := s.Certificates[0], s.Certificates[len(s.Certificates)-1]; first.Name != "early" || last.Name != "late" || last.NotAfter.Year() != 9999 {
			t.Errorf("the first is %+v, the last %+v", first, last)
		}
		for _, c := range s.Certificates {
			if len(c.Name) > 3*256 || strings.ContainsAny(c.Name, "\x00\x1b\n") {
				t.Errorf("the name %q", c.Name)
			}
		}
		list, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "certificates"})
		must(t, err)
		changes, _, err := x.Changes(t.Context(), "", 100)
		must(t, err)
		if last := changes[len(changes)-1]; len(list[0].Body) > 100<<10 || len(last.Certificates) != 100 || last.Certificates[0].Name != "early" {
			t.Errorf("the record has %d bytes, the change %d certificates", len(list[0].Body), len(last.Certificates))
		}
	})
}

// TestCertificatesResealed checks that Reseal leaves no certificates under an old key.
func TestCertificatesResealed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, nil)
		id := x.instantiated("plain")
		time.Sleep(readDelay)
		x.cfg.Key, x.cfg.OldKeys = []byte(strings.Repeat("k", 32)), [][]byte{testKey}
		x.start()
		if left, err := x.Reseal(t.Context()); left != 0 || err != nil {
			t.Errorf("%d records are left, %v", left, err)
		}
		x.cfg.OldKeys = nil
		x.start()
		if n := len(x.names(id)); n != 3 {
			t.Errorf("%d certificates under the new key", n)
		}
	})
}

// TestCertificatesWithRunner checks that a Manager with a Runner also reads certificates.
func TestCertificatesWithRunner(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 300*aDay, nil)
		id := x.instantiated("plain")
		closeManager(t, x.Manager)
		y := x.other(func(c *vnflcm.Config) { c.Runner = &engine{} })
		before := x.driver.calls()
		time.Sleep(aDay + readDelay)
		if x.driver.calls() == before {
			t.Error("nothing was read within a day")
		}
		s, err := y.CertificateStatus(t.Context(), id)
		must(t, err)
		if len(s.Certificates) == 0 {
			t.Errorf("the status is %+v", s)
		}
	})
}
