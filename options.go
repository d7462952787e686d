package disruption

import (
	"time"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/repair"
	"github.com/node-disruption/disruption/scheduling"
)

// Options of a pass. The zero value is Karpenter v1.14 with its defaults.
type Options struct {
	// Domain of the labels and annotations; "" is karpenter.sh.
	Domain string
	// Scheduling is what the simulation is told beside the facts: reservations,
	// minValues, default spread constraints, resource claims, unknown volumes. Its
	// fields Domain, WellKnownLabels and Moves are filled in by the pass.
	Scheduling scheduling.Options
	// Consolidation is what the search is told beside the facts: the feature gate
	// SpotToSpot, guards and their history, bounds, how drift goes about it. Its
	// fields Scheduling, Stop, ForEach, Batch and Explain are filled in by the pass.
	Consolidation consolidation.Options
	// BalancedK is the k of Balanced pools by name, 1 to 10; those that are missing
	// have Karpenter's 2.
	BalancedK map[string]float64

	// Methods, in the order in which they are asked; nil means [Methods]. The
	// first that finds a move ends the pass.
	Methods []consolidation.Method
	// AllMethods asks every method, each on the cluster as it is: a report of
	// what the later ones would do. Plan.Moves is the same as without it.
	AllMethods bool
	// Explain asks for all reasons of every node instead of the first, and for why
	// each pod found no place.
	Explain bool
	// SkipUnlaunched makes the pass empty while any claim has no provider id yet,
	// as Karpenter does. By default the plan only says so.
	SkipUnlaunched bool
	// ExpiringWithin is how far ahead Plan.Forceful looks for nodes whose life
	// ends; 0 means 24 hours.
	ExpiringWithin time.Duration
	// RepairPolicies say which nodes are sick; none means that nobody asks. See
	// repair.AWS and repair.AKS for what providers use.
	RepairPolicies []repair.Policy

	// Remember is how far back [Loop.History] goes; 0 means 24 hours. It should be
	// the longest window of the guards.
	Remember time.Duration
	// NotReached names the pools of which the last pass saw no candidate before it
	// was interrupted: their nodes come first now. See Plan.NotReached.
	NotReached []string
	// Workers is how many goroutines judge single nodes; 0 and 1 mean none but the
	// caller's. The plan does not depend on it.
	Workers int
}

// Methods are Karpenter's, in its order.
func Methods() []consolidation.Method {
	return []consolidation.Method{
		consolidation.MethodEmpty, consolidation.MethodStaticDrift, consolidation.MethodDrift,
		consolidation.MethodMulti, consolidation.MethodSingle,
	}
}
