package auth

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

const forwardedFor = "X-Forwarded-For"

// sender is the address that a request comes from, as far as this process is told: of whoever connected, or, where that is one of the
// proxies, of whom it has the request from by its own word. What stands further left in the header anybody may have written.
func (g *Gate) sender(r *http.Request) netip.Prefix {
	address := parseAddress(r.RemoteAddr)
	if len(g.proxies) == 0 || !g.proxy(address) {
		return network(address)
	}
	hops := strings.Split(strings.Join(r.Header.Values(forwardedFor), ","), ",")
	for _, hop := range slices.Backward(hops) {
		told := parseAddress(strings.TrimSpace(hop))
		if !told.IsValid() {
			break
		}
		if address = told; !g.proxy(address) {
			break
		}
	}
	return network(address)
}

// proxy reports whether it is the address of a proxy whose word is taken.
func (g *Gate) proxy(address netip.Addr) bool {
	return slices.ContainsFunc(g.proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseAddress reads an address with or without a port. What is none is not valid.
func parseAddress(text string) netip.Addr {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone("")
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}

// network is the address; of IPv6 the /64, which is what one host has.
func network(address netip.Addr) netip.Prefix {
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
