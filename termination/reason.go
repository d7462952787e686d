package termination

// Code says why something cannot happen now, or what is being done about it.
// Codes are API; wording is not.
type Code string

// Codes of what a pod waits for.
const (
	// Evicting: nothing holds the pod; it is evicted now.
	Evicting Code = "Evicting"
	// DeadlineReached: its time is up, it is deleted by force.
	DeadlineReached Code = "DeadlineReached"
	// Terminating: it is being deleted and has its grace period to end.
	Terminating Code = "Terminating"
	// EarlierTier: pods of an earlier tier go first.
	EarlierTier Code = "EarlierTier"
	// DoNotDisrupt: its do-not-disrupt annotation protects it.
	DoNotDisrupt Code = "DoNotDisrupt"
	// PDBExhausted: the one PDB that selects the pod allows no eviction now.
	PDBExhausted Code = "PDBExhausted"
	// MultiplePDBs: more than one PDB selects the pod, which the eviction API
	// refuses with status 500 however much they allow. It never resolves by itself.
	MultiplePDBs Code = "MultiplePDBs"
	// PDBUnobserved: the PDB controller has not yet seen the PDB's latest spec, so
	// the eviction API says to come back in ten seconds.
	PDBUnobserved Code = "PDBUnobserved"
	// PDBRefuses: the PDB's status is one that the eviction API answers with 403:
	// a negative allowance, or more than 2000 disrupted pods on record.
	PDBRefuses Code = "PDBRefuses"
)
