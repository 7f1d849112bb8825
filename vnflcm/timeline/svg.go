package timeline

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Sizes of the picture, in user units (CSS pixels).
const (
	pictureWidth = 1100.0
	margin       = 16.0
	laneHeight   = 20.0
	barHeight    = 16.0
	rowGap       = 8.0
	charWidth    = 6.3 // of the font of labels, on average
	maxName      = 40  // characters
	maxReason    = 400 // characters
)

const style = `<style>
svg{--ink:#1c2430;--dim:#66707f;--rule:#e3e7ec;--zebra:#f6f8fa;--paper:#fff;--done:#b7cdea;--crit:#2f6fc2;--fail:#c93c37;--run:#e3b341;--on:#fff;--onrun:#1c2430}
@media(prefers-color-scheme:dark){svg{--ink:#e4e9f0;--dim:#8f9aa8;--rule:#2a323d;--zebra:#161d26;--paper:#0f151c;--done:#31496a;--crit:#5c9df0;--fail:#f0655f;--run:#c99a2c;--on:#0b1118}}
text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--ink)}
.t{font-size:16px;font-weight:600}.d{fill:var(--dim)}.m{text-anchor:middle}.e{text-anchor:end}
.paper{fill:var(--paper)}.z{fill:var(--zebra)}.pause{fill:var(--rule)}
.rule{stroke:var(--rule)}.try{stroke:var(--fail);stroke-dasharray:4 3}.phase{stroke:var(--dim);stroke-width:2}
.done{fill:var(--done)}.crit{fill:var(--crit)}.fail{fill:var(--fail)}.run{fill:var(--run)}.on{fill:var(--on)}.onrun{fill:var(--onrun)}.err{fill:var(--fail)}
</style>
`

// WriteSVG writes one picture of several operations, one below the other, as an SVG document. Steps that have not ended are
// drawn until now.
func WriteSVG(w io.Writer, now time.Time, charts ...*Chart) error {
	var body bytes.Buffer
	y := 0.0
	for _, c := range charts {
		p := c.picture(now)
		p.draw()
		_, _ = fmt.Fprintf(&body, "<g transform=\"translate(0 %.1f)\">\n%s</g>\n", y, p.body.String())
		y += p.y + margin
	}
	y = legend(&body, y)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">
<title>Timeline</title>
%s<rect width="%.0f" height="%.0f" class="paper"/>
%s</svg>
`, pictureWidth, y, pictureWidth, y, style, pictureWidth, y, body.String())
	return err
}

// picture collects the elements of the document.
type picture struct {
	*layout
	chart *Chart
	scale *scale
	left  float64 // where the time begins
	y     float64 // below what is drawn
	body  bytes.Buffer
}

func (c *Chart) picture(now time.Time) *picture {
	l := c.layOut(now)
	p := &picture{layout: l, chart: c, left: margin + l.namesWidth()}
	p.scale = newScale(l.steps, l.start, l.end, p.left, pictureWidth-margin-p.left)
	return p
}

// namesWidth is the width of the column of names.
func (l *layout) namesWidth() float64 {
	longest := len("VNF")
	for _, r := range l.rows {
		longest = max(longest, utf8.RuneCountInString(clean(r.name)))
	}
	return float64(longest)*charWidth + 14
}

func (p *picture) printf(format string, args ...any) { _, _ = fmt.Fprintf(&p.body, format, args...) }

func (p *picture) text(x, y float64, class, text string) {
	p.printf("<text x=\"%.1f\" y=\"%.1f\" class=%q>%s</text>\n", x, y, class, escape(text))
}

func (p *picture) draw() {
	p.heading()
	top := p.y + 18
	p.phaseBand()
	p.pauses(top)
	p.axis()
	for i, r := range p.rows {
		p.row(r, i%2 == 0)
	}
	p.furtherAttempts(top)
}

func (p *picture) heading() {
	p.text(margin, 28, "t", string(p.chart.Operation)+" "+string(p.chart.State))
	p.text(margin, 46, "d", p.summary())
	p.y = 56
	if p.chart.Error != "" {
		p.text(margin, 64, "err", shorten(p.chart.Error, 160))
		p.y = 74
	}
}

// summary says how long the operation took, and why.
func (p *picture) summary() string {
	machines := 0
	var work, critical time.Duration
	for _, r := range p.rows {
		if r.name != "" {
			machines++
		}
		for _, b := range r.bars {
			work += b.End.Sub(b.Start)
		}
	}
	for _, b := range p.critical {
		critical += b.End.Sub(b.Start)
	}
	whole := p.end.Sub(p.start)
	return fmt.Sprintf("%s: %s with %s of work on %s. Critical path: %s, %s; waits and pauses: %s", short(whole), count(len(p.steps), "step"), short(work),
		count(machines, "machine"), count(len(p.critical), "step"), short(critical), short(max(whole-critical, 0)))
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// phaseBand shows the phases above the axis. A short phase has no name if the next one needs the place.
func (p *picture) phaseBand() {
	p.y += 14
	end := -1.0
	for i, phase := range p.phases {
		x, to := p.scale.at(phase.Start), p.scale.at(latest(phase.Start, phase.End))
		p.printf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"phase\"/>\n", x, p.y+4, max(to-1, x+1), p.y+4)
		name := clean(phase.Phase)
		width := charWidth * float64(utf8.RuneCountInString(name))
		fits := to-x >= width || i == len(p.phases)-1 || p.scale.at(p.phases[i+1].Start) > x+width
		if x = min(x, pictureWidth-margin-width); x > end && fits {
			p.text(x, p.y, "d", name)
			end = x + width + 4
		}
	}
	p.y += 10
}

// pauses shows the times that are cut short.
func (p *picture) pauses(top float64) {
	for _, s := range p.scale.spans {
		if s.pause {
			p.printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"pause\"/>\n", s.x, top, s.width, p.bottom()-top)
			p.text(s.x+s.width/2, p.bottom()-4, "d m", "… "+short(s.end.Sub(s.start)))
		}
	}
}

// bottom is where the rows end.
func (p *picture) bottom() float64 {
	y := p.y + 18
	for _, r := range p.rows {
		y += r.height()
	}
	return y
}

func (r *row) height() float64 { return float64(r.lanes)*laneHeight + rowGap }

func (p *picture) axis() {
	bottom := p.bottom()
	for _, t := range p.scale.ticks(p.start) {
		p.printf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"rule\"/>\n", t.x, p.y+14, t.x, bottom)
		if t.x > pictureWidth-margin-20 {
			p.text(pictureWidth-margin, p.y+10, "d e", t.label)
		} else {
			p.text(t.x, p.y+10, "d m", t.label)
		}
	}
	p.y += 18
}

func (p *picture) row(r *row, zebra bool) {
	if zebra {
		p.printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"z\"/>\n", margin-8, p.y, pictureWidth-2*margin+16, r.height())
	}
	p.text(p.left-10, p.y+rowGap/2+14, "e", clean(cmp.Or(r.name, "VNF")))
	for i, b := range r.bars {
		p.bar(b, p.y+rowGap/2+float64(b.lane)*laneHeight+(laneHeight-barHeight)/2, r.roomAfter(i, p.scale))
	}
	p.y += r.height()
}

// roomAfter returns where the next step in the lane of a step begins.
func (r *row) roomAfter(i int, s *scale) float64 {
	for _, next := range r.bars[i+1:] {
		if next.lane == r.bars[i].lane {
			return s.at(next.Start)
		}
	}
	return pictureWidth - margin
}

func (p *picture) bar(b *bar, y, room float64) {
	x, to := p.scale.at(b.Start), p.scale.at(b.End)
	width := max(to-x, 2)
	p.printf("<g><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"2\" class=%q/>", escape(b.tip(p.start)), x, y, width, barHeight, b.class())
	label := clean(b.Step)
	switch need := float64(utf8.RuneCountInString(label))*charWidth + 8; {
	case need <= width:
		p.text(x+4, y+12, b.labelClass(), label)
	case x+width+need <= room:
		p.text(x+width+3, y+12, "d", label)
	}
	p.printf("</g>\n")
}

func (b *bar) class() string {
	switch {
	case b.Failed:
		return "fail"
	case b.running:
		return "run"
	case b.critical:
		return "crit"
	}
	return "done"
}

// labelClass is the class of a label on the bar. The labels of running steps are dark in both schemes, because their bars are yellow.
func (b *bar) labelClass() string {
	return map[string]string{"fail": "on", "crit": "on", "run": "onrun"}[b.class()]
}

// tip is what a reader sees at a step: its name, its times, its attempt, its error, or why it waits.
func (b *bar) tip(start time.Time) string {
	took := "took " + short(b.End.Sub(b.Start))
	if b.running {
		took = "running for " + short(b.End.Sub(b.Start))
	}
	text := fmt.Sprintf("%s: %s\nbegan at %s, %s", clean(b.Phase), clean(b.Step), short(max(b.Start.Sub(start), 0)), took)
	if b.reason != "" {
		text += "\n" + shorten(b.reason, maxReason)
	}
	if b.Attempt > 1 {
		text += fmt.Sprintf("\nattempt %d", b.Attempt)
	}
	if b.Failed {
		text += "\nfailed " + clean(string(b.Code))
	}
	if b.critical {
		text += "\non the critical path"
	}
	return text
}

// furtherAttempts marks where a retry, a rollback or another process began.
func (p *picture) furtherAttempts(top float64) {
	for _, a := range p.attempts {
		x := p.scale.at(a.start)
		p.printf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"try\"/>\n", x, top, x, p.y+12)
		label := fmt.Sprintf("attempt %d", a.number)
		if a.process != "" {
			label += ", by " + clean(a.process)
		}
		anchor, at := "err", x+4
		if x+charWidth*float64(utf8.RuneCountInString(label)) > pictureWidth-margin {
			anchor, at = "err e", x-4
		}
		p.text(at, p.y+12, anchor, label)
	}
	if len(p.attempts) > 0 {
		p.y += 14
	}
}

// legend explains the colours below all charts, and returns where the picture ends.
func legend(out *bytes.Buffer, y float64) float64 {
	x := margin
	for _, entry := range [][2]string{{"crit", "critical path"}, {"done", "other step"}, {"fail", "failed"}, {"run", "running"}} {
		_, _ = fmt.Fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" class=%q/><text x=\"%.1f\" y=\"%.1f\" class=\"d\">%s</text>\n",
			x, y, entry[0], x+17, y+10, entry[1])
		x += 32 + charWidth*float64(len(entry[1]))
	}
	return y + 12 + margin
}

// clean removes characters without a width, such as those that change the direction of a text, and cuts long names.
func clean(name string) string {
	return shorten(name, maxName)
}

func shorten(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // to memory
	return out.String()
}
