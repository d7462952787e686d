// Package consolidation decides which nodes can go, alone or together, so that a
// cluster costs less, and whether the saving is worth the disruption.
//
// It answers as Karpenter v1.14 does, and says why for every node that stays:
//
//	fleet, err := consolidation.Compile(cluster, "")  // costs, and what blocks each node
//	planner := consolidation.NewPlanner(fleet, snapshot, consolidation.Options{})
//	outcome := planner.Multi(allowed)                 // allowed by the budgets
//	for _, move := range outcome.Moves { ... }        // what to do, and what it saves
//	for _, stay := range outcome.Stays { ... }        // every other node, and why
//
// # Methods
//
// A pass asks [Planner.Empty], [Planner.StaticDrift], [Planner.Drift],
// [Planner.Multi] and [Planner.Single] in this order; the first that finds a move
// ends it. Later, and before anything is done, [Planner.Validate] judges the move
// again on a newer cluster. [Planner.Evaluate] judges any set of nodes.
//
// # Beyond Karpenter
//
// All of it is off by default. [Planner.Best] is a search that is never worse than
// Karpenter's, tries several replacements, and knows a bound on what else could be
// saved. Guards add rules: [MinSavings], [UtilizationCeiling], [MinAge],
// [ChurnLimit], [PoolCooldown], [PodCooldown], [LoopDetector],
// [KeepSingleReplicas], [KeepOneReplica], [Headroom], [WholeMovePDBs]; what they
// remember is a [History], plain data that the caller keeps. [Planner.Missed]
// names the largest saving that is not made, and what blocks it.
//
// One rule differs from Karpenter on purpose: a replacement of several nodes must be
// cheaper than the sum of their prices by more than one part in a billion, since a
// sum of floats can be larger than what it stands for (three times 0.1 is not dearer
// than 0.3).
//
// # Reasons
//
// Each "no" is a [Reason] with a stable [Code]. What speaks against a node:
// InMove, Unmanaged, NotJoined, NotInitialized, Deleting, Nominated,
// NodeDoNotDisrupt, NoPool, UnknownPool, NoInstanceTypes, PodDoNotDisrupt,
// PDBBlocks, SeveralPDBs; for one method: StaticPool, NotStaticPool,
// UnknownInstanceType, NoCapacityType, NoZone, NeverConsolidate, Buffered, Empty,
// NotEmpty, WhenEmptyOnly, NotConsolidatable, NotDrifted. Why a candidate was not
// taken: BudgetSpent, CannotPass, NotReached, NotChosen, TooFewCandidates,
// ReplicasExceeded, ReplicasMissing, NodeLimit, RolloutGate. Why a move is not made:
// NoPools, PodsUnplaced, TooManyNewNodes, NotCheaper, ReplaceOff, MinValues,
// SpotToSpotOff, TooFewSpotTypes, SameInstanceType, ScoreTooLow, and those of guards:
// SavingsTooSmall, ChurnLimited, PoolCooling, PodCooling, Looping, SingleReplica,
// AllReplicas, TooBusy, TooYoung, NoHeadroom, PDBExceeded. Why a decided move is dropped:
// Churn, BudgetChanged, SchedulingChanged, NoPools, SnapshotTooOld.
package consolidation
