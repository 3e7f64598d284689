package httpapi

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// negotiate picks the offered type that the client likes best, the first of equals. It is not_acceptable when the
// client takes none of them.
func negotiate(r *http.Request, offered ...string) (string, error) {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(header) == "" {
		return offered[0], nil
	}
	best, bestQuality := "", 0.0
	for _, offer := range offered {
		if quality := qualityOf(header, offer); quality > bestQuality {
			best, bestQuality = offer, quality
		}
	}
	if best == "" {
		return "", execution.NewAPIError(execution.NotAcceptable,
			"this can be had as %s", strings.Join(offered, " or ")).In("Accept")
	}
	return best, nil
}

// qualityOf is how much an Accept header likes a type: the quality of the most specific range that covers it.
func qualityOf(header, offer string) float64 {
	major, _, _ := strings.Cut(offer, "/")
	quality, specific := 0.0, 0
	for part := range strings.SplitSeq(header, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		rank := map[string]int{offer: 3, major + "/*": 2, "*/*": 1}[kind]
		if rank <= specific {
			continue
		}
		specific, quality = rank, 1
		if q, has := params["q"]; has {
			if quality, err = strconv.ParseFloat(q, 64); err != nil {
				quality = 0
			}
		}
	}
	return quality
}
