package a2a

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// guard says where notifications may go: an address that a caller leaves must not lead to what only this server can reach.
type guard struct {
	allow []netip.Prefix // networks that are private and meant
	local bool           // this machine
}

// errGuarded: a notification may not go there. Trying again is of no use.
var errGuarded = errors.New("the address is private: a2a push notifications do not go there")

// check refuses an address that cannot be one to go to. What a name stands for is looked at when it is dialed.
func (g guard) check(field, address string) error {
	parsed, err := url.Parse(address)
	switch {
	case address == "":
		return bad(field, "is required")
	case len(address) > maxPushURL:
		return bad(field, "want at most %d bytes", maxPushURL)
	case err != nil || parsed.Host == "" || parsed.Hostname() == "" || parsed.Opaque != "":
		return bad(field, "want an address such as https://app.example.com/told")
	case parsed.User != nil:
		return bad(field, "must hold no user or password: use authentication")
	case parsed.Scheme == "https":
	case parsed.Scheme != "http" || !g.local || !onLoopback(parsed.Hostname()):
		return bad(field, "want https: the notification carries what the task answers")
	}
	if ip, err := netip.ParseAddr(parsed.Hostname()); err == nil && !g.permits(ip) {
		return bad(field, "the address is private")
	}
	if strings.EqualFold(parsed.Hostname(), "localhost") && !g.local {
		return bad(field, "the address is private")
	}
	return nil
}

func onLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// reserved are networks that are nobody's on the internet, or stand for others that may be private.
func reserved() []netip.Prefix {
	all := []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	}
	prefixes := make([]netip.Prefix, len(all))
	for i, text := range all {
		prefixes[i] = netip.MustParsePrefix(text)
	}
	return prefixes
}

// permits reports whether notifications may go to an address.
func (g guard) permits(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	within := func(p netip.Prefix) bool { return p.Contains(ip) }
	switch {
	case slices.ContainsFunc(g.allow, within):
		return true
	case ip.IsLoopback():
		return g.local
	default:
		return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(reserved(), within)
	}
}

// control looks at the address that is about to be dialed: the one that a name stands for now.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !g.permits(ip) {
		return errGuarded
	}
	return nil
}
