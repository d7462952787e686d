package termination

// Code says why something cannot happen now. Codes are API; wording is not.
type Code string

// Codes of what holds a pod, a drain or a node.
const (
	// MultiplePDBs: more than one PDB selects the pod, which the eviction API
	// refuses with status 500 however much they allow. It never resolves by itself.
	MultiplePDBs Code = "MultiplePDBs"
	// PDBExhausted: the one PDB that selects the pod allows no eviction now.
	PDBExhausted Code = "PDBExhausted"
)
