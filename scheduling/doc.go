// Package scheduling answers: if these nodes were gone, where would their pods
// go? It holds the requirements algebra, instance types and offerings, the
// compiled snapshot of a cluster and the simulation on it.
//
//	snapshot, err := scheduling.NewSnapshot(cluster, scheduling.Options{})
//	if err != nil {
//		return err // which object is malformed, by path
//	}
//	result := snapshot.Simulate(scheduling.Request{Remove: []string{"node-1"}, Explain: true})
//	if result.AllRunningPlaced() && len(result.NewNodes) == 0 {
//		// node-1 can go: its pods fit on the nodes there are
//	}
//
// # Simulation
//
// The rules are those of Karpenter v1.14. Pods are placed one after another,
// most CPU first, each on the first existing node that fits in a fixed order,
// else on a node opened before, else on a new one of the heaviest pool. A pod
// that fits nowhere gives up its preferences one by one. Topology, affinity,
// volumes, host ports, limits, minValues and capacity reservations count as they
// do there, its quirks included: see the comments where one is followed.
//
// A pod with resource claims (DRA) is refused with a reason, never placed as if
// it had none, unless [Options.AllowResourceClaims] says so.
//
// # What if
//
// A [Snapshot] never changes. [Snapshot.With] derives one of a hypothetical
// cluster: a node more, fewer or cordoned, a pod bound or gone, another pool.
// [Snapshot.Headroom] counts how many more pods of a kind fit,
// [Snapshot.WhyNot] lists what keeps a pod from a node.
//
// # Preferences
//
// What pods prefer counts as required until they fit nowhere, so that a move
// may need a new node for the sake of a preference. [Placement.Preferences]
// tells what each pod gave up and what not, [Options.Preferences] leaves
// preferences out, and [Options.DefaultSpread] adds constraints to pods that
// have none.
//
// # Reasons
//
// With [Request.Explain] each unschedulable pod has an [Unschedulable]: a
// summary like the scheduler's, the node that came nearest, and why no pool
// opens a node. The codes are stable:
//
//   - of a pod: [NoPlace], [ResourceClaims], [UnknownVolumes],
//     [NotInitialized];
//   - of a node: [Settling], [UntoleratedTaint], [LabelMismatch],
//     [Overcommitted], [Insufficient], [HostPortTaken], [VolumeElsewhere],
//     [TooManyVolumes], [SpreadViolated], [NotNearPods], [TooNearPods],
//     [KeptAway], [MissingTopologyKey];
//   - of a pool: [PoolClosed], [NoTemplate], [LimitReached],
//     [TopologyConflict], [NoInstanceType], [TooFewValues], [NoReservation],
//     and those of a node that speak of taints, labels, volumes and topology.
//
// # Cost
//
// Compiling takes a few microseconds a pod. A simulation costs in proportion to
// the pods that move, whatever the size of the cluster: about 15 µs for the 15
// pods of one node of 5,000. PERFORMANCE.md says how, and what was measured.
package scheduling
