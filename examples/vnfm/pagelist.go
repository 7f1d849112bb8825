package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// listSize is how many instances or packages a page has.
const listSize = 50

// choice is what the query of a list asks for.
type choice struct {
	Text   string // that the name, the product, the version or the id contains
	State  string // one of rowStates, or ""
	Sort   string // a column, with - before it in the opposite order; "": those that need attention first
	number int    // of the page, from 1
}

func choiceOf(query url.Values) choice {
	c := choice{Text: firstOf(strings.TrimSpace(query.Get("q")), 200), number: 1}
	if state := query.Get("state"); slices.Contains(rowStates, state) {
		c.State = state
	}
	if _, exists := orders[strings.TrimPrefix(query.Get("sort"), "-")]; exists {
		c.Sort = query.Get("sort")
	}
	if n, err := strconv.Atoi(query.Get("page")); err == nil {
		c.number = max(n, 1)
	}
	return c
}

// uri is a link to the list that c asks for.
func (c choice) uri() string {
	query := url.Values{}
	for name, value := range map[string]string{"q": c.Text, "state": c.State, "sort": c.Sort} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.number > 1 {
		query.Set("page", strconv.Itoa(c.number))
	}
	if len(query) == 0 {
		return "/"
	}
	return "/?" + query.Encode()
}

// matches reports whether a row has the text.
func (c choice) matches(r row) bool {
	return strings.Contains(strings.ToLower(strings.Join([]string{r.Name, r.Product, r.Version, r.ID}, "\n")), strings.ToLower(c.Text))
}

// orders are the columns by which a list is sorted.
var orders = map[string]func(a, b row) int{
	"name": func(a, b row) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) },
	"product": func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Version, b.Version))
	},
	"state":    func(a, b row) int { return cmp.Or(cmp.Compare(a.rank(), b.rank()), latestFirst(a, b)) },
	"last":     latestFirst,
	"machines": func(a, b row) int { return cmp.Compare(b.MachineCount(), a.MachineCount()) },
}

// rank is the place of the row's state in rowStates. Among failures, operations that keep the instance locked are first.
func (r row) rank() int {
	rank := 2 * slices.Index(rowStates, r.State())
	if r.Last != nil && r.Last.State == vnflcm.Failed {
		rank++
	}
	return rank
}

// latestFirst orders rows by the beginning of their last operation. Rows without operations are last.
func latestFirst(a, b row) int {
	switch {
	case a.Last == nil && b.Last == nil:
		return 0
	case a.Last == nil:
		return 1
	case b.Last == nil:
		return -1
	}
	return b.Last.Start.Compare(a.Last.Start)
}

// sorted sorts rows as c asks for. Equal rows are in the order of their names and ids.
func (c choice) sorted(rows []row) {
	column, opposite := strings.CutPrefix(cmp.Or(c.Sort, "state"), "-")
	slices.SortFunc(rows, func(a, b row) int {
		order := orders[column](a, b)
		if opposite {
			order = -order
		}
		return cmp.Or(order, orders["name"](a, b), cmp.Compare(a.ID, b.ID))
	})
}

// listView is what list.html shows.
type listView struct {
	choice
	Rows     []listRow
	Found    int // rows of all pages
	States   []link
	Columns  []link
	Pages    []link
	Clear    string // the URI of the list without filter; "" if there is no filter
	Onboards bool   // there is a page of packages
	VIMs     []shownVIM
	Stopped  []*vnflcm.VnfLcmOpOcc // operations whose failure stops the maintenance window for all tenants
	Hidden   bool                  // the window is stopped by an operation that the client may not see
	Faults   string                // records that cannot be read, for the operator
}

// listRow is a row with the certificate that ends first.
type listRow struct {
	row
	Ends *vnflcm.KnownCertificate
}

// link is a link of the list.
type link struct {
	Name    string
	Count   int
	URI     string // "": a gap between the links
	Current bool
	Sorted  string // of a column: ascending or descending, as in aria-sort; "" if the list is not sorted by it
}

// shownVIM is a VIM that the client may use.
type shownVIM struct {
	*vnflcm.VIM
	Own  bool // the client may change it
	Used int  // VNF instances on the VIM
}

func (p *pages) instances(r *http.Request, tenant string) (body []byte, media string, err error) {
	rows, faults, err := p.overview.list(r.Context(), p.manager, tenant)
	if err != nil {
		return nil, "", err
	}
	v := listView{choice: choiceOf(r.URL.Query()), Onboards: p.packages != nil}
	if faults != nil && tenant == "" {
		v.Faults = firstOf(faults.Error(), 2000)
	}
	if err := p.choose(r.Context(), &v, rows); err != nil {
		return nil, "", err
	}
	if err := p.addStopped(r.Context(), &v, tenant); err != nil {
		return nil, "", err
	}
	if err := p.addVIMs(r.Context(), &v, tenant); err != nil {
		return nil, "", err
	}
	return render("list.html", v)
}

// choose adds to the page the rows that its query asks for, and the links to others.
func (p *pages) choose(ctx context.Context, v *listView, rows []row) error {
	rows = slices.DeleteFunc(rows, func(r row) bool { return !v.matches(r) })
	v.addStates(rows)
	if v.State != "" {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.State() != v.State })
	}
	v.sorted(rows)
	v.Found = len(rows)
	var from, to int
	v.number, from, to = part(len(rows), listSize, v.number)
	v.addLinks()
	for _, r := range rows[from:to] {
		shown := listRow{row: r}
		status, err := p.certificates(ctx, r.ID, r.Instantiation)
		if err != nil {
			return err
		}
		if len(status.Certificates) > 0 {
			shown.Ends = &status.Certificates[0]
		}
		v.Rows = append(v.Rows, shown)
	}
	return nil
}

// part returns which items a page has. A page behind the last one is the last one.
func part(items, size, number int) (page, from, to int) {
	page = max(1, min(number, pagesOf(items, size)))
	return page, (page - 1) * size, min(page*size, items)
}

func pagesOf(items, size int) int { return (items + size - 1) / size }

// addStates adds links that filter by state, with the numbers of rows.
func (v *listView) addStates(rows []row) {
	count := map[string]int{}
	for _, r := range rows {
		count[r.State()]++
	}
	all := choice{Text: v.Text, Sort: v.Sort}
	v.States = []link{{Name: "all", Count: len(rows), URI: all.uri(), Current: v.State == ""}}
	for _, state := range rowStates {
		only := choice{Text: v.Text, Sort: v.Sort, State: state}
		v.States = append(v.States, link{Name: state, Count: count[state], URI: only.uri(), Current: v.State == state})
	}
}

// addLinks adds links that sort the list, to its pages, and to the list without filter.
func (v *listView) addLinks() {
	for _, column := range []struct{ key, name string }{{"name", "name"}, {"product", "product"}, {"state", "state"}, {"last", "last operation"}, {"machines", "machines"}} {
		to, shown := choice{Text: v.Text, State: v.State, Sort: column.key}, link{Name: column.name}
		switch cmp.Or(v.Sort, "state") {
		case column.key:
			to.Sort, shown.Sorted = "-"+column.key, "ascending"
		case "-" + column.key:
			shown.Sorted = "descending"
		}
		shown.URI = to.uri()
		v.Columns = append(v.Columns, shown)
	}
	v.Pages = pageLinks(v.number, pagesOf(v.Found, listSize), func(n int) string {
		c := v.choice
		c.number = n
		return c.uri()
	})
	if v.Text != "" || v.State != "" {
		v.Clear = choice{Sort: v.Sort}.uri()
	}
}

// pageLinks returns links to the pages of a list: to all, or to the first, the last and those near the current one.
func pageLinks(current, last int, uri func(n int) string) (out []link) {
	const all, near = 12, 3
	if last < 2 {
		return nil
	}
	for n := 1; n <= last; n++ {
		switch {
		case last <= all || n == 1 || n == last || n >= current-near && n <= current+near:
			out = append(out, link{Name: strconv.Itoa(n), URI: uri(n), Current: n == current})
		case out[len(out)-1].URI != "":
			out = append(out, link{Name: "…"})
		}
	}
	return out
}

// addVIMs adds to the page the VIMs that a tenant may use.
func (p *pages) addVIMs(ctx context.Context, v *listView, tenant string) error {
	list, err := p.manager.VIMRegistry().List(ctx, tenant)
	if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
		return err
	}
	used, err := p.manager.VIMRegistry().InUse(ctx, tenant, list)
	for _, vim := range list {
		v.VIMs = append(v.VIMs, shownVIM{vim, sees(tenant, vim.Tenant), used[vim.VimID]})
	}
	return err
}

// addStopped adds to the page whether a failed operation stops the maintenance window. An operation of another tenant is not named.
func (p *pages) addStopped(ctx context.Context, v *listView, tenant string) error {
	failed, err := p.manager.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.FailedTemp}, Limit: listSize,
		Match: func(o *vnflcm.VnfLcmOpOcc) bool { return o.IsAutomaticInvocation }})
	for _, o := range failed.Items {
		if sees(tenant, o.Tenant) {
			v.Stopped = append(v.Stopped, o)
		} else {
			v.Hidden = true
		}
	}
	if errors.Is(err, vnflcm.ErrUnreadable) {
		return nil // the faults of the list name the records
	}
	return err
}
