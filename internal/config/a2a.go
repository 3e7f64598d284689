package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Face says what the agents of others see.
type Face struct {
	Published bool     `envconfig:"PAWL_A2A" default:"false" desc:"show the agents that have publish in their file to the agents of others, at /a2a (protocol A2A 0.3)"`
	FaceURL   string   `envconfig:"PAWL_A2A_URL" desc:"the address of this API as others reach it, for agent cards, such as https://agents.example.com; required unless PAWL_HTTP_ADDR is a loopback address"`
	FaceAgent string   `envconfig:"PAWL_A2A_AGENT" desc:"the agent whose card is at /.well-known/agent-card.json; the only published one when empty"`
	PushAllow Networks `envconfig:"PAWL_A2A_PUSH_ALLOW" desc:"private networks, by comma, that push notifications may go to, such as 10.1.0.0/16; none when empty"`
}

// Networks are networks by comma.
type Networks []netip.Prefix

// Decode reads networks such as 10.1.0.0/16, and single addresses.
func (n *Networks) Decode(value string) error {
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			ip, noAddress := netip.ParseAddr(text)
			if noAddress != nil {
				return fmt.Errorf("want networks by comma such as 10.1.0.0/16, have %q", text)
			}
			prefix = netip.PrefixFrom(ip, ip.BitLen())
		}
		*n = append(*n, prefix.Masked())
	}
	return nil
}

func (f *Face) check() error {
	if !f.Published {
		for name, given := range map[string]bool{
			"PAWL_A2A_URL": f.FaceURL != "", "PAWL_A2A_AGENT": f.FaceAgent != "", "PAWL_A2A_PUSH_ALLOW": len(f.PushAllow) > 0,
		} {
			if given {
				return fmt.Errorf("%s: needs PAWL_A2A=1", name)
			}
		}
		return nil
	}
	if f.FaceURL == "" {
		return nil
	}
	parsed, err := url.Parse(f.FaceURL)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.RawQuery != "" ||
		parsed.Fragment != "" || parsed.User != nil {
		return errors.New("PAWL_A2A_URL: want an address such as https://agents.example.com")
	}
	return nil
}
