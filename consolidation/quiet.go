package consolidation

import "time"

// Activity is what decides how long a node has been quiet.
type Activity struct {
	// ConsolidateAfter of the pool; nil means Never.
	ConsolidateAfter *time.Duration
	// Initialized is when the claim's condition Initialized turned True; nil while
	// it isn't True.
	Initialized *time.Time
	// LastPodEvent is when a pod was last bound to the node, became terminal or
	// began to terminate; zero if that never happened. It wins over Initialized,
	// even if it is older. DaemonSet pods don't count.
	LastPodEvent time.Time
}

// Quiet is the answer of [Consolidatable].
type Quiet struct {
	// Consolidatable: the node has been quiet long enough. It stays false for a
	// node that is not initialised, and for ever if consolidateAfter is Never.
	Consolidatable bool
	// Settling: the node is initialised but consolidateAfter has not elapsed.
	// Pods of consolidated nodes are not moved to it.
	Settling bool
	// Until is when Settling will end, if nothing happens before.
	Until time.Time
}

// Consolidatable reports whether a node has been quiet for the consolidateAfter
// of its pool, as Karpenter v1.14 computes the condition Consolidatable of a
// node claim. Exactly consolidateAfter after the last event it has.
func Consolidatable(a Activity, now time.Time) Quiet {
	if a.ConsolidateAfter == nil || a.Initialized == nil {
		return Quiet{}
	}
	since := *a.Initialized
	if !a.LastPodEvent.IsZero() {
		since = a.LastPodEvent
	}
	if *a.ConsolidateAfter != 0 && now.Sub(since) < *a.ConsolidateAfter {
		return Quiet{Settling: true, Until: since.Add(*a.ConsolidateAfter)}
	}
	return Quiet{Consolidatable: true}
}
