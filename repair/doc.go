// Package repair answers: which nodes are sick enough to be replaced, and when
// are too many sick to dare?
//
// A [Policy] names a node condition, a status of it, and how long that is
// tolerated. A node is sick while a policy matches, and due once the toleration
// is over. A [Breaker] stops all repair of a pool when more than a share of its
// nodes are sick, 20% rounded up by default: by then the cause is elsewhere.
//
//	o := repair.Options{Settings: repair.Settings{Policies: repair.AWS()}}
//	plan := repair.Propose(nodes, &o, state, now)
//	for _, a := range plan.Actions {
//		// write a.Deadline on the claim, then delete it
//	}
//	state = plan.State
//
// With policies alone this is node repair as Karpenter v1.14 does it: by force,
// every due node that the breaker lets pass, whatever PDBs, budgets and
// do-not-disrupt say. Each further option is off until it is set: settings for
// single pools, rounding and ranges of the breaker, a limit of how many are under
// repair at once (which a breaker is not), a count that includes what leaves
// anyway, storms, a delay before a node counts as healthy again, failure domains,
// vetoes, a graceful end, and a [Step] by step ladder of reboot, somebody else's
// remedy, and replacement.
//
// [Parse] reads the options from JSON, so that users can set them without code.
//
// [Propose] explains every node: each [Finding] has a stable [Code], the numbers
// behind it, and when it may change. What must be remembered between calls is the
// [State], a value that encodes as JSON.
package repair
