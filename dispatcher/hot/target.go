package hot

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// metadata are addresses at which clouds serve credentials of nodes, besides link-local ones.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16")}

// target returns the URL of a request to pod, or why there must be none. Denied are addresses besides those that no pod can have.
func target(pod workload.RunningPod, method, port, path string, denied []netip.Addr) (*url.URL, error) {
	r, err := dialect.ParseRequest(method + " :" + port + path)
	u, bad := url.ParseRequestURI(path)
	if err != nil || bad != nil || r != (dialect.Request{Method: method, Port: port, Path: path}) {
		return nil, refusal("there is no such request")
	}
	address, err := addressOf(pod, denied)
	if err != nil {
		return nil, err
	}
	number, ok := portOf(pod, port)
	if !ok {
		return nil, refusal("no container of the pod declares this TCP port")
	}
	u.Scheme, u.Host = "http", net.JoinHostPort(address.String(), strconv.Itoa(int(number)))
	return u, nil
}

// addressOf returns the pod's own address.
func addressOf(pod workload.RunningPod, denied []netip.Addr) (netip.Addr, error) {
	if pod.HostNetwork {
		return netip.Addr{}, refusal("the pod has the network of its node")
	}
	if pod.Address == "" {
		return netip.Addr{}, &Error{why: "the pod has no address yet"}
	}
	address, err := netip.ParseAddr(pod.Address)
	address = address.Unmap()
	switch {
	case err != nil, address.Zone() != "", !address.IsGlobalUnicast(), slices.Contains(metadata, address):
		return netip.Addr{}, refusal("the address in the pod's status cannot be that of a pod")
	case slices.Contains(denied, address):
		return netip.Addr{}, refusal("the address in the pod's status is that of an API server")
	case slices.ContainsFunc(pod.NodeAddresses, func(text string) bool {
		node, err := netip.ParseAddr(text)
		return err == nil && node.Unmap() == address
	}):
		return netip.Addr{}, refusal("the address in the pod's status is that of its node")
	}
	return address, nil
}

// portOf returns the number of a port that a container declares, by its name or number.
func portOf(pod workload.RunningPod, port string) (int32, bool) {
	for _, p := range pod.Ports {
		if p.Number > 0 && p.Number <= 65535 && port != "" && (port == p.Name || port == strconv.Itoa(int(p.Number))) {
			return p.Number, true
		}
	}
	return 0, false
}
