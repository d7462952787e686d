package annotations

// DefaultDomain is the domain of Karpenter's own keys.
const DefaultDomain = "karpenter.sh"

// Keys of Kubernetes itself, the same under every domain.
const (
	PodDeletionCost          = "controller.kubernetes.io/pod-deletion-cost"
	ExcludeFromLoadBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
	labelZone                = "topology.kubernetes.io/zone"
	labelRegion              = "topology.kubernetes.io/region"
	labelInstanceType        = "node.kubernetes.io/instance-type"
	labelArch                = "kubernetes.io/arch"
	labelOS                  = "kubernetes.io/os"
	labelWindowsBuild        = "node.kubernetes.io/windows-build"
)

// Values of the capacity-type label.
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeReserved = "reserved"
)

// Keys is the vocabulary under one domain. It is plain data: copy it freely.
type Keys struct {
	// Domain is the prefix that all keys below share, without the slash.
	Domain string

	// Annotations.
	DoNotDisrupt                  string // on pods and nodes
	NodePoolHash                  string // on pools and claims
	NodePoolHashVersion           string // on pools and claims
	NodeClaimTerminationTimestamp string // on claims: the deadline, RFC3339
	NodeClaimMinValuesRelaxed     string // on claims: "true" when minValues was lowered

	// Labels.
	NodePool     string
	CapacityType string
	Initialized  string
	Registered   string

	// Taint keys: disrupted has effect NoSchedule, unregistered NoExecute.
	DisruptedTaint    string
	UnregisteredTaint string

	// Finalizer of nodes and claims.
	TerminationFinalizer string
}

// For returns the vocabulary under domain; "" means [DefaultDomain]. Karpenter's
// own costs no allocation.
func For(domain string) Keys {
	if domain == "" || domain == DefaultDomain {
		return karpenterKeys
	}
	return keysUnder(domain)
}

var karpenterKeys = keysUnder(DefaultDomain)

func keysUnder(domain string) Keys {
	key := func(name string) string { return domain + "/" + name }
	return Keys{
		Domain:                        domain,
		DoNotDisrupt:                  key("do-not-disrupt"),
		NodePoolHash:                  key("nodepool-hash"),
		NodePoolHashVersion:           key("nodepool-hash-version"),
		NodeClaimTerminationTimestamp: key("nodeclaim-termination-timestamp"),
		NodeClaimMinValuesRelaxed:     key("nodeclaim-min-values-relaxed"),
		NodePool:                      key("nodepool"),
		CapacityType:                  key("capacity-type"),
		Initialized:                   key("initialized"),
		Registered:                    key("registered"),
		DisruptedTaint:                key("disrupted"),
		UnregisteredTaint:             key("unregistered"),
		TerminationFinalizer:          key("termination"),
	}
}

// WellKnownLabels returns the labels that a node pool may leave undefined: a
// pod may ask for them on a new node all the same. The slice is the caller's.
func (k Keys) WellKnownLabels() []string {
	return []string{k.NodePool, k.CapacityType, labelZone, labelRegion, labelInstanceType, labelArch, labelOS, labelWindowsBuild}
}

// NormalizeLabel maps the beta spelling of a well-known label to the stable
// one, and returns every other key as it is.
func NormalizeLabel(key string) string {
	switch key {
	case "failure-domain.beta.kubernetes.io/zone":
		return labelZone
	case "failure-domain.beta.kubernetes.io/region":
		return labelRegion
	case "beta.kubernetes.io/arch":
		return labelArch
	case "beta.kubernetes.io/os":
		return labelOS
	case "beta.kubernetes.io/instance-type":
		return labelInstanceType
	}
	return key
}
