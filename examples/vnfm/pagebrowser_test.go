package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// newBrowser starts Chromium without a window. The browser ends with the test.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no Chromium: .ci/install examples/vnfm/packages.txt")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to be root with it
	}
	limited, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(stop)
	allocator, end := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(end)
	browser, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() { _ = chromedp.Cancel(browser) }) // returns when the browser has ended
	must(t, chromedp.Do(browser))
	return browser
}

// show sets the width of the window, in CSS pixels, and the colour scheme.
func show(browser context.Context, t *testing.T, width int64, scheme string) {
	t.Helper()
	must(t, chromedp.Do(browser, chromedp.EmulateViewport(width, 800)))
	_, err := chromedp.Call(browser, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	must(t, err)
}

// layout is what a page looks like.
type layout struct {
	Content, Window    float64 // widths
	Background, Colour string  // of the body
	Timeline           float64 // width of the first picture's box, 0 without picture
	Picture            float64 // width of the first picture
	Wide               []string
}

// measureLayout reads the layout of the page that the browser shows. Wide has the elements that extend beyond the window, but for
// those in boxes that scroll.
const measureLayout = `(() => {
	const root = document.documentElement, body = getComputedStyle(document.body), box = document.querySelector(".scroll"), img = document.querySelector(".scroll img");
	const wide = [...document.querySelectorAll("body *")].filter(e => !e.parentElement.closest(".scroll") && e.getBoundingClientRect().right > root.clientWidth + 1);
	return {Content: root.scrollWidth, Window: root.clientWidth, Background: body.backgroundColor, Colour: body.color,
		Timeline: box ? box.clientWidth : 0, Picture: img ? img.getBoundingClientRect().width : 0, Wide: wide.map(e => e.outerHTML.slice(0, 200))};
})()`

// checkLayout checks that the page fits the window, and that only pictures scroll sideways.
func checkLayout(browser context.Context, t *testing.T, where string, dark bool) {
	t.Helper()
	l, err := chromedp.Run(browser, chromedp.Evaluate[layout](measureLayout))
	must(t, err)
	if l.Content > l.Window || len(l.Wide) > 0 {
		t.Errorf("%s: %.0f pixels in a window of %.0f:\n%s", where, l.Content, l.Window, strings.Join(l.Wide, "\n"))
	}
	if (l.Background == "rgb(15, 21, 28)") != dark || l.Background == l.Colour {
		t.Errorf("%s: dark is %t, the background is %s", where, dark, l.Background)
	}
	if l.Timeline > l.Window || l.Timeline > 0 && l.Picture < 900 {
		t.Errorf("%s: a picture of %.0f pixels in a box of %.0f", where, l.Picture, l.Timeline)
	}
}

// TestPagesInBrowser looks at the pages of small and large VNFMs in Chromium, in wide and narrow windows, light and dark.
func TestPagesInBrowser(t *testing.T) {
	browser := newBrowser(t)
	for _, size := range []struct{ instances, failing int }{{3, 1}, {300, 60}} {
		f := newFleet(t, longFault, members(size.instances, size.failing)...)
		_, err := f.pages.packages.Create(t.Context(), "north", nil)
		must(t, err)
		paths := map[string]string{"list": "/", "packages": "/packages", "failures": "/?state=failed&q=e&sort=-name"}
		for _, instance := range f.all() {
			if instance.InstantiatedVnfInfo != nil {
				_, err := f.Certificates(t.Context(), instance.ID)
				must(t, err)
			}
			paths[instance.VnfInstanceDescription] = "/instances/" + instance.ID
		}
		for _, width := range []int64{1280, 400} {
			for _, scheme := range []string{"light", "dark"} {
				show(browser, t, width, scheme)
				for name, path := range paths {
					must(t, chromedp.Do(browser, chromedp.Navigate(f.server.URL+path)))
					checkLayout(browser, t, fmt.Sprintf("%d instances, %s, %d pixels, %s", size.instances, name, width, scheme), scheme == "dark")
				}
			}
		}
		f.clickThrough(browser, size.failing)
	}
}

// clickThrough clicks from the list to failures: all of a few, else those at the ends of the pages. Their errors must be visible, whole.
func (f *fleet) clickThrough(browser context.Context, failing int) {
	f.t.Helper()
	for i := range failing {
		number, at := i/listSize+1, i%listSize+1
		if at > 2 && at < listSize && i < failing-1 {
			continue
		}
		must(f.t, chromedp.Do(browser, chromedp.Navigate(f.server.URL+"/")))
		if number > 1 {
			f.click(browser, fmt.Sprintf("nav.pages a:nth-child(%d)", number))
		}
		f.click(browser, fmt.Sprintf("table.list tbody tr:nth-child(%d) td.name a", at))
		heading, err1 := chromedp.Run(browser, chromedp.Text(chromedp.CSS("section.operation.bad h3"), chromedp.NodeVisible))
		fault, err2 := chromedp.Run(browser, chromedp.Text(chromedp.CSS("section.operation.bad pre.error"), chromedp.NodeVisible))
		must(f.t, errors.Join(err1, err2))
		if !strings.Contains(fault, longFault) || !strings.Contains(heading, "FAILED") {
			f.t.Errorf("failure %d: %q, %q", i+1, heading, fault)
		}
	}
}

// click clicks on a link and waits for the page that it leads to.
func (f *fleet) click(browser context.Context, link string) {
	f.t.Helper()
	response, err := chromedp.RunResponse(browser, chromedp.Click(chromedp.CSS(link), chromedp.NodeVisible))
	must(f.t, err)
	if response.Status != 200 {
		f.t.Fatalf("%s: %s", link, response.StatusText)
	}
}

// pictured are the instances in the picture of README.md, and how long ago their operations seem to have begun.
var pictured = []struct {
	member
	age time.Duration
}{
	{member{"core-amsterdam", fateWorks}, 400 * time.Hour}, {member{"core-berlin", fateWorks}, 300 * time.Hour}, {member{"edge-hamburg-1", fateFails}, 3 * time.Minute},
	{member{"edge-hamburg-2", fateWorks}, 26 * time.Hour}, {member{"edge-munich-1", fateWaits}, 80 * time.Second}, {member{"edge-munich-2", fateWorks}, 7 * time.Hour},
	{member{"edge-paris-1", fateCreated}, 0}, {member{"edge-paris-2", fateFailed}, 95 * time.Minute}, {member{"lab-tokyo", fateWorks}, 70 * 24 * time.Hour},
}

// TestPagePicture writes the picture in README.md to the file that VNFKIT_PAGE_PICTURE names.
func TestPagePicture(t *testing.T) {
	target := os.Getenv("VNFKIT_PAGE_PICTURE")
	if target == "" {
		t.Skip("VNFKIT_PAGE_PICTURE names no file for the picture")
	}
	browser := newBrowser(t)
	var members []member
	ages := map[string]time.Duration{}
	for _, each := range pictured {
		members, ages[each.name] = append(members, each.member), each.age
	}
	f := newFleet(t, `kubeadm join: exit code 1: couldn't validate the identity of the API server: dial tcp 198.18.1.10:6443: connect: no route to host`, members...)
	for _, instance := range f.all() {
		if instance.InstantiatedVnfInfo != nil {
			_, err := f.Certificates(t.Context(), instance.ID)
			must(t, err)
		}
	}
	_ = f.get("/", "") // reads the rows
	for id, r := range f.pages.overview.rows {
		if r.Last != nil {
			aged := *r.Last
			aged.Start = aged.Start.Add(-ages[r.Name])
			r.Last = &aged
			f.pages.overview.rows[id] = r
		}
	}
	show(browser, t, 1100, "light")
	must(t, chromedp.Do(browser, chromedp.Navigate(f.server.URL+"/")))
	picture, err := chromedp.Run(browser, chromedp.FullScreenshot(100))
	must(t, err)
	must(t, os.WriteFile(target, picture, 0o600))
}
