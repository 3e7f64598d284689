package bench

import (
	"encoding/xml"
	"fmt"
	"strings"
)

const (
	rowHeight   = 26
	labelWidth  = 330
	barWidth    = 380
	imageWidth  = 800
	headerSpace = 40
)

// Picture draws the steps per second of the throughput measurement, and of the sweeps, as an SVG of bars.
func (r *Report) Picture() []byte {
	var b strings.Builder
	y := 10
	for _, result := range r.Results {
		bars := barsOf(result)
		if len(bars) == 0 {
			continue
		}
		y += headerSpace
		text(&b, 12, y-14, "start", "bold", result.Title+", steps per second")
		for _, m := range bars {
			width := max(1, int(m.Median/highest(bars)*barWidth))
			color := "#9aa5b1"
			if strings.Contains(m.Name, "pawl") || strings.Contains(m.Name, "process") {
				color = "#2f6fde"
			}
			text(&b, labelWidth, y+16, "end", "normal", strings.TrimSuffix(m.Name, ": steps"))
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`+"\n", labelWidth+10, y+2, width, rowHeight-6, color)
			text(&b, labelWidth+16+width, y+16, "start", "normal", figure(m.Median))
			y += rowHeight
		}
	}
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">
<rect width="100%%" height="100%%" fill="#ffffff"/>
`, imageWidth, y+20)
	return []byte(head + b.String() + "</svg>\n")
}

// barsOf are the metrics of a result that count steps per second.
func barsOf(result Result) []Metric {
	var bars []Metric
	for _, m := range result.Metrics {
		if m.Unit == "1/s" && strings.HasSuffix(m.Name, ": steps") {
			bars = append(bars, m)
		}
	}
	return bars
}

func highest(bars []Metric) float64 {
	most := 1.0
	for _, m := range bars {
		most = max(most, m.Median)
	}
	return most
}

func text(b *strings.Builder, x, y int, anchor, weight, what string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s" font-weight="%s" fill="#1f2933">`, x, y, anchor, weight)
	_ = xml.EscapeText(b, []byte(what)) // a strings.Builder never fails
	b.WriteString("</text>\n")
}
