package scheduling

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// hostPort is a port that a container opens on its node.
type hostPort struct {
	ip       netip.Addr
	port     int32
	protocol corev1.Protocol
}

// hostPortsOf lists the host ports of the pod's containers. Init containers and
// sidecars don't count; no address means all IPv4 addresses.
func hostPortsOf(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for i := range pod.Spec.Containers {
		for _, p := range pod.Spec.Containers[i].Ports {
			if p.HostPort == 0 {
				continue
			}
			ip, err := netip.ParseAddr(p.HostIP)
			if err != nil {
				ip = netip.IPv4Unspecified()
			}
			ports = append(ports, hostPort{ip, p.HostPort, p.Protocol})
		}
	}
	return ports
}

// clashes reports whether both can't be open on one node: same port, same
// protocol as written, and addresses that are equal or one of them unspecified.
func (a hostPort) clashes(b hostPort) bool {
	return a.port == b.port && a.protocol == b.protocol &&
		(a.ip == b.ip || a.ip.IsUnspecified() || b.ip.IsUnspecified())
}

// firstClash returns a port of wanted that is taken, if there is one.
func firstClash(wanted, taken []hostPort) (hostPort, bool) {
	for _, w := range wanted {
		for _, t := range taken {
			if w.clashes(t) {
				return w, true
			}
		}
	}
	return hostPort{}, false
}
