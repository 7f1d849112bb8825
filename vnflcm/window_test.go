package vnflcm_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// always configures a window that is always open, for this number of instances a day.
func always(instances int) func(*vnflcm.Config) {
	return func(c *vnflcm.Config) {
		c.Maintenance = vnflcm.MaintenanceWindow{To: aDay, Instances: instances}
	}
}

// automatic returns the operations that the Manager has started itself.
func (x *issued) automatic() []*vnflcm.VnfLcmOpOcc {
	x.t.Helper()
	page, err := x.Operations(x.t.Context(), vnflcm.OperationQuery{Match: func(o *vnflcm.VnfLcmOpOcc) bool { return o.IsAutomaticInvocation }})
	must(x.t, err)
	return page.Items
}

// TestWindowForYears simulates five years of a cluster whose certificates are valid for one year. A process runs for three minutes on
// Sundays, in the window, and on some other days. Sometimes it ends during an operation. No certificate may expire, and each must be
// renewed once and only in a window.
func TestWindowForYears(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, func(c *vnflcm.Config) {
			c.Granter = noGranter
			c.Maintenance = vnflcm.MaintenanceWindow{Days: []time.Weekday{time.Sunday}, From: 2 * time.Hour, To: 3 * time.Hour}
		})
		id := x.instantiated("plain")
		closeManager(t, x.Manager)
		began, cut := time.Now(), false
		midnight := time.Date(began.Year(), began.Month(), began.Day()+1, 0, 0, 0, 0, time.UTC)
		for day := range 5 * 365 {
			at := midnight.AddDate(0, 0, day).Add(2*time.Hour + 30*time.Minute)
			if at.Weekday() != time.Sunday && day%5 != 0 {
				continue
			}
			time.Sleep(time.Until(at))
			x.driver.set(func() {
				x.driver.during = nil
				if len(x.driver.renewals)%2 == 1 { // interrupts the first attempt of every second renewal
					cut = true
					x.driver.during = func(ctx context.Context) { <-ctx.Done() }
				}
			})
			x.run(3 * time.Minute)
			if s := x.status(id); len(s.Certificates) > 0 && time.Until(s.Certificates[0].NotAfter) < 20*aDay {
				t.Fatalf("day %d: the certificates end in %v", day, time.Until(s.Certificates[0].NotAfter))
			}
		}
		done := x.automatic()
		if len(done) < 5 || len(done) > 6 || !cut {
			t.Errorf("%d renewals within five years", len(done))
		}
		for _, occ := range done {
			if at := occ.StartTime.UTC(); occ.OperationState != vnflcm.Completed || occ.Operation != vnflcm.OpModifyInfo || at.Weekday() != time.Sunday || at.Hour() != 2 || occ.GrantID != "" {
				t.Errorf("%+v", occ)
			}
		}
	})
}

// TestWindowShortLife checks that certificates that are valid for 20 days are renewed only in the last third of this time, also if they
// have the NotBefore of their authority.
func TestWindowShortLife(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 20*aDay, always(1))
		x.driver.from = time.Now()
		x.instantiated("plain")
		time.Sleep(readDelay)
		closeManager(t, x.Manager)
		for range 100 {
			time.Sleep(aDay)
			x.run(2 * readDelay)
		}
		if n := len(x.driver.renewed()); n != 7 {
			t.Errorf("%d renewals within 100 days, want one each 14 days", n)
		}
	})
}

// TestNoWindow checks that nothing is renewed without a window.
func TestNoWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 20*time.Minute, nil)
		x.instantiated("plain")
		time.Sleep(time.Hour)
		if len(x.automatic()) > 0 {
			t.Error("certificates were renewed")
		}
	})
}

// TestWindowOneByOne checks that all processes together renew one instance at a time, in the order in which certificates expire, and at
// most the configured number a day.
func TestWindowOneByOne(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, always(3))
		var ids []string
		for range 5 {
			ids = append(ids, x.instantiated("plain"))
		}
		time.Sleep(readDelay)
		closeManager(t, x.Manager)
		reader := x.Manager
		x.driver.set(func() {
			for i, id := range ids {
				for on := range x.driver.ends[id] {
					x.driver.ends[id][on] = time.Now().Add(time.Duration(29-i) * aDay)
				}
			}
			x.driver.ends[ids[0]]["worker-0"] = time.Now().Add(aDay + 2*time.Hour)
			x.driver.during = func(ctx context.Context) {
				active, err := reader.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing}})
				if err != nil || len(active.Items) != 1 {
					t.Errorf("%d operations at once, %v", len(active.Items), err)
				}
				time.Sleep(time.Minute)
			}
		})
		time.Sleep(aDay)
		window := x.cfg.Maintenance
		x.cfg.Maintenance = vnflcm.MaintenanceWindow{}
		x.run(readDelay) // reads the certificates
		x.cfg.Maintenance = window
		var others []*toys
		for range 3 {
			y := x.other(nil)
			others, x.Manager = append(others, y), y.Manager
		}
		time.Sleep(10 * time.Minute)
		want := []string{ids[0], ids[4], ids[3]}
		if diff := cmp.Diff(want, x.driver.renewed()); diff != "" {
			t.Errorf("on the first day:\n%s", diff)
		}
		for _, y := range others {
			closeManager(t, y.Manager)
		}
		time.Sleep(aDay)
		x.run(10 * time.Minute)
		if diff := cmp.Diff(append(want, ids[2], ids[1]), x.driver.renewed()); diff != "" {
			t.Errorf("on the second day:\n%s", diff)
		}
	})
}

// TestWindowStops checks that the first failure stops further renewals in all processes, until a person retries or fails the operation.
func TestWindowStops(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*issued, string){
		"retry": func(x *issued, opID string) { x.wait(opID, x.Retry(x.t.Context(), opID), vnflcm.Completed) },
		"fail":  func(x *issued, opID string) { x.wait(opID, x.Fail(x.t.Context(), opID), vnflcm.Failed) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				x := newIssued(t, 365*aDay, always(10))
				ids := []string{x.instantiated("plain"), x.instantiated("plain"), x.instantiated("plain")}
				time.Sleep(readDelay)
				closeManager(t, x.Manager)
				x.driver.set(func() { x.driver.failing = errCut })
				time.Sleep(340 * aDay)
				for range 3 {
					x.run(10 * time.Minute)
				}
				done := x.automatic()
				if len(done) != 1 || done[0].OperationState != vnflcm.FailedTemp || !slices.Contains(ids, done[0].VnfInstanceID) {
					t.Fatalf("%d operations: %+v", len(done), done)
				}
				if n := strings.Count(x.log.String(), "retry or fail it"); n != 3 {
					t.Errorf("%d processes have logged the stop:\n%s", n, x.log)
				}
				x.driver.set(func() { x.driver.failing = nil })
				x.start()
				end(x, done[0].ID)
				closeManager(t, x.Manager)
				x.run(10 * time.Minute)
				completed := map[string]bool{}
				for _, occ := range x.automatic() {
					completed[occ.VnfInstanceID] = occ.OperationState == vnflcm.Completed
				}
				if !completed[ids[0]] || !completed[ids[1]] || !completed[ids[2]] {
					t.Errorf("afterwards: %v", completed)
				}
			})
		})
	}
}

// TestWindowFailures checks that instances whose renewals always fail do not block other instances or each other, with one renewal a day
// and a person who calls Fail for each failed operation.
func TestWindowFailures(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, always(1))
		var ids []string
		for range 4 {
			ids = append(ids, x.instantiated("plain"))
			time.Sleep(readDelay)
		}
		closeManager(t, x.Manager)
		x.driver.set(func() { x.driver.broken = ids[:2] })
		time.Sleep(340 * aDay)
		window := x.cfg.Maintenance
		x.cfg.Maintenance = vnflcm.MaintenanceWindow{}
		x.run(readDelay) // reads the certificates, so that all instances are due when the window opens
		x.cfg.Maintenance = window
		day := func() {
			x.start()
			time.Sleep(10 * time.Minute)
			for _, occ := range x.automatic() {
				if occ.OperationState == vnflcm.FailedTemp {
					x.wait(occ.ID, x.Fail(t.Context(), occ.ID), vnflcm.Failed)
				}
			}
			time.Sleep(readDelay) // reads the certificates
			closeManager(t, x.Manager)
			time.Sleep(aDay)
		}
		for range 6 {
			day()
		}
		if diff := cmp.Diff(append(slices.Clone(ids), ids[0], ids[1]), x.driver.renewed()); diff != "" {
			t.Errorf("renewals of six days:\n%s", diff)
		}
		x.driver.set(func() { x.driver.broken = nil })
		day()
		day()
		x.driver.set(func() {
			x.driver.renewals = nil
			for i, id := range []string{ids[1], ids[2]} {
				for on := range x.driver.ends[id] {
					x.driver.ends[id][on] = time.Now().Add(time.Duration(10+i) * aDay)
				}
			}
		})
		x.cfg.Maintenance = vnflcm.MaintenanceWindow{}
		x.run(readDelay) // reads the certificates
		x.cfg.Maintenance = window
		day()
		if diff := cmp.Diff([]string{ids[1]}, x.driver.renewed()); diff != "" {
			t.Errorf("failures before a renewal that went well count:\n%s", diff)
		}
	})
}

// TestWindowLeavesOut checks the instances that are skipped: those that another operation has locked, also in FAILED_TEMP, which is not a
// failed renewal, and, until the next day, those whose renewal was refused. Neither an expiring authority nor certificates that a renewal
// does not change are a reason for a renewal.
func TestWindowLeavesOut(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, always(10))
		locked, free := x.instantiated("plain"), x.instantiated("plain")
		time.Sleep(readDelay)
		x.world.failAt("heal/replace/worker-0", errCut)
		opID, err := x.Heal(t.Context(), locked, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
		x.wait(opID, err, vnflcm.FailedTemp)
		x.driver.set(func() {
			x.driver.useless = true
			x.driver.authority[free] = time.Now().Add(370 * aDay)
		})
		closeManager(t, x.Manager)
		time.Sleep(340 * aDay)
		for range 3 {
			x.run(10 * time.Minute)
			time.Sleep(aDay)
		}
		if diff := cmp.Diff([]string{free}, x.driver.renewed()); diff != "" {
			t.Errorf("certificates that a renewal does not change:\n%s", diff)
		}
		x.driver.set(func() { x.driver.useless, x.driver.ends[free] = false, map[string]time.Time{} })
		must(t, x.driver.issue(free, []vnflcm.VNFC{{ID: "master-0"}, {ID: "worker-0"}, {ID: "worker-1"}}))
		x.world.failAt("heal/replace/worker-0", nil)
		x.start()
		x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
		closeManager(t, x.Manager)
		x.run(10 * time.Minute)
		x.run(10 * time.Minute) // only the authority of the other instance ends
		if diff := cmp.Diff([]string{free, locked}, x.driver.renewed()); diff != "" {
			t.Errorf("after the lock:\n%s", diff)
		}
		if strings.Contains(x.log.String(), "refused") {
			t.Errorf("a lock is no refusal:\n%s", x.log)
		}
	})
}

// TestWindowRefused checks that a refused renewal does not stop the renewals of other instances, and is repeated on the next day.
func TestWindowRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 365*aDay, always(10))
		refused := x.instantiated("plain")
		time.Sleep(readDelay)
		other := x.instantiated("plain")
		time.Sleep(readDelay)
		closeManager(t, x.Manager)
		time.Sleep(340 * aDay)
		x.driver.set(func() { x.driver.refused = refused })
		x.run(10 * time.Minute)
		if diff := cmp.Diff([]string{other}, x.driver.renewed()); diff != "" || strings.Count(x.log.String(), "is refused") != 1 {
			t.Errorf("renewed:\n%s\n%s", diff, x.log)
		}
		x.driver.set(func() { x.driver.refused = "" })
		time.Sleep(aDay)
		x.run(10 * time.Minute)
		if diff := cmp.Diff([]string{other, refused}, x.driver.renewed()); diff != "" {
			t.Errorf("on the next day:\n%s", diff)
		}
	})
}

// TestWindowDamaged checks that no renewal is started after the loss of the record of the last renewal, until a person acts, because it is
// unknown whether renewals were stopped.
func TestWindowDamaged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newIssued(t, 20*aDay, always(10))
		x.instantiated("plain")
		time.Sleep(readDelay)
		closeManager(t, x.Manager)
		must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "automatic", ID: "renew_certificates", Body: []byte("damaged")}}}))
		time.Sleep(18 * aDay)
		x.run(10 * time.Minute)
		if n := len(x.driver.renewed()); n != 0 || strings.Count(x.log.String(), "automatic renew_certificates") != 1 {
			t.Errorf("%d renewals:\n%s", n, x.log)
		}
		x.start()
		must(t, x.Forget(t.Context(), "automatic", "renew_certificates"))
		closeManager(t, x.Manager)
		x.run(10 * time.Minute)
		if n := len(x.driver.renewed()); n != 1 {
			t.Errorf("%d renewals afterwards", n)
		}
	})
}

// TestWindowConfig checks that New refuses an invalid window.
func TestWindowConfig(t *testing.T) {
	t.Parallel()
	for _, w := range []vnflcm.MaintenanceWindow{{From: time.Hour, To: time.Hour}, {To: aDay, Instances: -1}, {Days: []time.Weekday{8}, To: aDay}} {
		_, err := vnflcm.New(t.Context(), vnflcm.Config{Store: store.NewMemory(), Key: testKey, Packages: toyPackage("cluster"), Maintenance: w})
		if err == nil || !strings.Contains(err.Error(), "Config.Maintenance") {
			t.Errorf("%+v: %v", w, err)
		}
	}
}
