package csar_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestJudge calls Judge for packages that were opened with the policy Off.
func TestJudge(t *testing.T) {
	now := time.Now()
	root := certify(t, "root", nil, now.Add(time.Hour))
	vendor := certify(t, "vendor", root, now.Add(time.Hour))
	files := contents()
	text := manifestOf(files)
	files["vnf.mf"] = text + vendor.sign(t, []byte(text), true)
	inner := zipWith(t, 0, bytesOf(files))
	wrapped := zipWith(t, 0, map[string][]byte{"vnf.csar": inner, "vnf.cms": []byte(vendor.sign(t, inner, true))})
	later := func() time.Time { return now.Add(2 * time.Hour) }

	for name, path := range map[string]string{"signed manifest": write(t, "vnf.csar", inner), "option 2": write(t, "vnf.zip", wrapped)} {
		t.Run(name, func(t *testing.T) {
			a, err := csar.Open(t.Context(), path, csar.Options{Integrity: csar.Integrity{Policy: csar.Off}})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if n := len(a.Signers()); n != 0 {
				t.Errorf("%d signers before Judge", n)
			}
			expired := csar.Integrity{Policy: csar.Verify, Roots: root.pool(), Now: later}
			if err := a.Judge(t.Context(), expired); codes(t, err)[0] != problem.Expired {
				t.Errorf("error %v, want %s", err, problem.Expired)
			}
			if err := a.Judge(t.Context(), csar.Integrity{Policy: "none"}); err == nil {
				t.Error("an unknown policy is accepted")
			}
			before, err := a.Digest(t.Context()) // although the signer has expired
			if err != nil {
				t.Fatal(err)
			}
			var several sync.WaitGroup
			for range 4 {
				several.Go(func() {
					if err := a.Judge(t.Context(), csar.Integrity{Policy: csar.Require, Roots: root.pool()}); err != nil {
						t.Error(err)
					}
				})
			}
			several.Wait()
			if s := a.Signers(); len(s) == 0 || !s[0].Trusted {
				t.Errorf("signers %+v, want a trusted one", s)
			}
			if after, err := a.Digest(t.Context()); after != before || err != nil {
				t.Errorf("digest %s, %v; before it was %s", after, err, before)
			}
		})
	}
	t.Run("unsigned", func(t *testing.T) {
		a := open(t, sample)
		err := a.Judge(t.Context(), csar.Integrity{Policy: csar.Require, Roots: root.pool()})
		if got := codes(t, err); len(got) == 0 || got[0] != problem.Unsigned {
			t.Errorf("%v, want %s", got, problem.Unsigned)
		}
		if err := a.Judge(t.Context(), csar.Integrity{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("changed between", func(t *testing.T) {
		fsys := mapFS(files)
		a, err := csar.OpenFS(t.Context(), fsys, csar.Options{Integrity: csar.Integrity{Policy: csar.Off}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Digest(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := contents()
		other["ChangeLog.txt"] = "third\n"
		text := manifestOf(other) // signed by the same vendor
		other["vnf.mf"] = text + vendor.sign(t, []byte(text), true)
		for name, content := range other {
			fsys[name] = file(content)
		}
		if err := a.Judge(t.Context(), csar.Integrity{Policy: csar.Require, Roots: root.pool()}); !errors.Is(err, problem.Problem{Code: problem.Changed}) {
			t.Errorf("error %v, want %s", err, problem.Changed)
		}
	})
}
