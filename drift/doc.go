// Package drift answers: does this node still match what its pool asks for? And
// if many don't, which is replaced first, and how long will it take?
//
// A [Checker] judges claims by Karpenter v1.14's rules, in its order: the hash of
// the pool's template ([NodePoolHash], compatible to the bit), the pool's
// requirements against the claim's labels, the instance type, and the cloud's own
// answer. [Verdict.Condition] says what to do with the claim's Drifted condition.
//
//	checker := drift.Compile(&pool, drift.Options{Cloud: provider})
//	verdict, err := checker.Evaluate(&claim, now)
//	change, condition := verdict.Condition(claim.Drifted, now)
//
// The condition then decides what [Propose] does, one move a pass, and
// [ProposeStatic] for pools with replicas.
//
// A provider writes its own check from [StaticHash], [OneOf], [SameSet], [Equal]
// and [First]. [Migrate] brings a new version of the hash in without rolling a
// node.
//
// Beyond Karpenter, and off until asked: [WouldDrift] previews an edit and names
// the fields that make nodes drift; [Forecast] lays a roll-out out in time under
// the pool's budgets; [ReportStorm] tells what has drifted already; a [Rollout]
// holds a pool back by canaries, a breaker and a back-off; static pools without
// headroom may terminate first; a live look may be asked for before a node counts
// as drifted; and what a cloud can put right in place needs no new node.
package drift
