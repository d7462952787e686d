package oracle

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

type hostPort struct {
	ip       netip.Addr
	raw      string
	port     int32
	protocol corev1.Protocol
	pod      string
}

func hostPorts(p *corev1.Pod) []hostPort {
	var ports []hostPort
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.HostPort == 0 {
				continue
			}
			ip := port.HostIP
			if ip == "" {
				ip = "0.0.0.0"
			}
			addr, _ := netip.ParseAddr(ip)
			ports = append(ports, hostPort{addr, ip, port.HostPort, port.Protocol, p.Namespace + "/" + p.Name})
		}
	}
	return ports
}

func (a hostPort) clashes(b hostPort) bool {
	if a.pod == b.pod || a.port != b.port || a.protocol != b.protocol {
		return false
	}
	sameIP := a.ip == b.ip && a.ip.IsValid() || a.raw == b.raw
	return sameIP || a.ip.IsUnspecified() || b.ip.IsUnspecified()
}

func anyClash(a, b []hostPort) bool {
	return slices.ContainsFunc(a, func(x hostPort) bool { return slices.ContainsFunc(b, x.clashes) })
}
