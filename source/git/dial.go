package git

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/nodepools/nodepools/source"
)

// dialer connects to the host of the URL, wherever its name resolves to, but for
// the addresses that belong to this machine or to its cloud: whoever controls the
// name could otherwise make this process ask the metadata service, or a port that
// listens on loopback alone. Private ranges are where Git servers of companies are.
//
// The check runs on the address that the connection goes to, after the lookup, so
// a name that resolves otherwise the second time gains nothing.
func (t *target) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:  30 * time.Second,
		Resolver: t.resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			resolved, err := netip.ParseAddrPort(address)
			if err != nil {
				return t.fail(source.ErrUnreachable, "the host name cannot be looked up")
			}
			ip := resolved.Addr()
			if what := localAddress(ip); what != "" && !t.address.names(ip) {
				return t.fail(source.ErrAddress, fmt.Sprintf("the host name resolves to %s, %s", ip.WithZone(""), what))
			}
			return nil
		},
	}
}

// names reports whether the URL itself names the address: it has the address in
// the place of a name, or says localhost.
func (a address) names(ip netip.Addr) bool {
	host, _, err := net.SplitHostPort(a.dialAddress())
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return ip.Unmap().IsLoopback()
	}
	literal, err := netip.ParseAddr(host)
	return err == nil && literal.Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// metadata are the addresses of services for the machines of a cloud that are not
// link-local: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html,
// https://cloud.google.com/compute/docs/metadata/querying-metadata,
// https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16,
// https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192"),
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.MustParseAddr("255.255.255.255")
	// The prefixes of IPv6 that carry an address of IPv4, and where in it.
	embedded = map[netip.Prefix]int{
		netip.MustParsePrefix("64:ff9b::/96"): 12, // NAT64
		netip.MustParsePrefix("2002::/16"):    2,  // 6to4
		netip.MustParsePrefix("::/96"):        12, // IPv4-compatible
	}
)

// localAddress says what kind of address it is that no name may resolve to, or is
// empty.
func localAddress(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return "a loopback address"
	case ip.IsUnspecified(), thisNetwork.Contains(ip):
		return "an unspecified address"
	case ip.IsLinkLocalUnicast():
		return "a link-local address"
	case ip.IsMulticast(), ip == broadcast:
		return "a multicast address"
	}
	for _, each := range metadata {
		if ip == each {
			return "the metadata service of a cloud"
		}
	}
	for prefix, at := range embedded {
		if bytes := ip.As16(); ip.Is6() && prefix.Contains(ip) {
			return localAddress(netip.AddrFrom4([4]byte(bytes[at : at+4])))
		}
	}
	return ""
}
