package main

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// longFault is an error whose text a page must show whole.
var longFault = "join: exit code 1 of kubeadm join\n" + strings.Repeat("[preflight] a line of the output\n", 20) + hostileText + "\nthe last line"

var (
	namePattern  = regexp.MustCompile(`(?s)<td class="name"><a href="/instances/[^"]+">(.*?)</a>`)
	statePattern = regexp.MustCompile(`(?s)<td data-of="state"><span class="badge \w+">(.*?)</span>`)
)

func texts(pattern *regexp.Regexp, page string) (out []string) {
	for _, match := range pattern.FindAllStringSubmatch(page, -1) {
		out = append(out, html.UnescapeString(match[1]))
	}
	return out
}

// TestList checks the order, the filters, the links and the pages of the list.
func TestList(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "out of quota", member{"c-works", fateWorks}, member{"a-created", fateCreated}, member{"d-waits", fateWaits}, member{"e-given-up", fateFailed},
		member{"b-fails", fateFails}, member{"", fateCreated})
	byState := []string{"b-fails", "e-given-up", "d-waits", "c-works", "without a name", "a-created"}
	for path, want := range map[string][]string{
		"/":                                  byState,
		"/?sort=state&page=0":                byState,
		"/?sort=none&state=none&page=x":      byState,
		"/?page=7":                           byState,
		"/?sort=name":                        {"without a name", "a-created", "b-fails", "c-works", "d-waits", "e-given-up"},
		"/?sort=-name":                       {"e-given-up", "d-waits", "c-works", "b-fails", "a-created", "without a name"},
		"/?state=failed":                     {"b-fails", "e-given-up"},
		"/?state=running":                    {"d-waits"},
		"/?state=not+instantiated&sort=name": {"without a name", "a-created"},
		"/?q=%20-WORKS":                      {"c-works"},
		"/?q=-&state=failed&sort=-name":      {"e-given-up", "b-fails"},
		"/?q=nothing+has+this":               nil,
	} {
		if diff := cmp.Diff(want, texts(namePattern, f.get(path, ""))); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	home := f.get("/", "")
	if diff := cmp.Diff([]string{"failed", "failed", "running", "instantiated", "not instantiated", "not instantiated"}, texts(statePattern, home)); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{`failed <b>2</b>`, `all <b>6</b>`, "out of quota", `<td data-of="machines" class="number">2</td>`, `INSTANTIATE <span class="badge bad">FAILED_TEMP</span>`,
		`aria-sort="ascending"><a href="/?sort=-state">state`} {
		if !strings.Contains(home, want) {
			t.Errorf("no %q in\n%s", want, home)
		}
	}
	filtered := links(f.get("/?q=a%26b&state=failed&sort=-name", ""))
	for _, want := range []string{"/?q=a%26b&sort=-name", "/?q=a%26b&sort=-name&state=running", "/?q=a%26b&sort=name&state=failed", "/?sort=-name"} {
		if !slices.Contains(filtered, want) {
			t.Errorf("no link to %s: %q", want, filtered)
		}
	}
	if page := f.get("/", "south"); len(texts(namePattern, page)) > 0 || !strings.Contains(page, `all <b>0</b>`) {
		t.Errorf("another tenant sees\n%s", page)
	}
}

// TestListFollows checks that the list has each change of another process at once.
func TestListFollows(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "out of quota", member{"one", fateFails})
	states := func() []string {
		t.Helper()
		page := f.get("/?sort=name", "")
		return slices.Concat(texts(namePattern, page), texts(statePattern, page))
	}
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, states()); diff != "" {
			t.Error(diff)
		}
	}
	check("one", "failed")
	f.add(member{"two", fateWorks}, member{"three", fateCreated})
	check("one", "three", "two", "failed", "not instantiated", "instantiated")
	for _, instance := range f.all() {
		switch instance.VnfInstanceName {
		case "one":
			operations, err := f.Operations(t.Context(), vnflcm.OperationQuery{InstanceID: instance.ID})
			must(t, err)
			must(t, f.Rollback(t.Context(), operations.Items[0].ID))
			_, _ = f.Wait(t.Context(), operations.Items[0].ID)
		case "two":
			name := "renamed"
			id, err := f.Modify(t.Context(), instance.ID, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
			must(t, err)
			_, err = f.Wait(t.Context(), id)
			must(t, err)
		case "three":
			must(t, f.Delete(t.Context(), instance.ID, ""))
		}
	}
	check("one", "renamed", "not instantiated", "instantiated")
}

// TestFailuresAreNear follows the links of the list: two clicks lead to every failure and its whole text.
func TestFailuresAreNear(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ instances, failing int }{{3, 1}, {300, 60}} {
		t.Run(fmt.Sprint(size.instances), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, longFault, members(size.instances, size.failing)...)
			home := f.get("/", "")
			instances := map[string]bool{} // that one or two clicks reach
			first := links(home)
			for _, target := range first {
				if strings.HasPrefix(target, "/instances/") {
					instances[target] = true
				} else if where, err := url.Parse(target); err == nil && where.Query().Get("page") != "" {
					for _, target := range links(f.get(target, "")) {
						if strings.HasPrefix(target, "/instances/") {
							instances[target] = true
						}
					}
				}
			}
			if len(instances) != size.instances {
				t.Errorf("two clicks reach %d instances", len(instances))
			}
			failed, err := f.Operations(t.Context(), vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.FailedTemp, vnflcm.Failed}})
			must(t, err)
			if len(failed.Items) != size.failing {
				t.Fatalf("%d operations have failed", len(failed.Items))
			}
			for _, operation := range failed.Items {
				target := "/instances/" + operation.VnfInstanceID
				page := f.get(target, "")
				if !instances[target] || !strings.Contains(html.UnescapeString(page), operation.Error.Detail) || strings.Contains(page, "<script") {
					t.Fatalf("%s reached: %t\n%s", target, instances[target], page)
				}
			}
			if strings.Contains(home, "<script") || len(texts(namePattern, home)) != min(listSize, size.instances) {
				t.Errorf("%d instances on a page:\n%s", len(texts(namePattern, home)), home)
			}
		})
	}
}

// TestPageLinks checks which pages of a long list have links.
func TestPageLinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		current, last int
		want          string
	}{
		{1, 1, ""}, {1, 2, "[1] 2"}, {3, 4, "1 2 [3] 4"}, {1, 40, "[1] 2 3 4 … 40"}, {20, 40, "1 … 17 18 19 [20] 21 22 23 … 40"}, {40, 40, "1 … 37 38 39 [40]"},
	} {
		var got []string
		for _, l := range pageLinks(c.current, c.last, func(n int) string { return fmt.Sprint(n) }) {
			if l.Current {
				l.Name = "[" + l.Name + "]"
			}
			got = append(got, l.Name)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%d of %d:\n%s", c.current, c.last, diff)
		}
	}
}
