// Package disruption answers, about a Kubernetes cluster whose nodes come and go:
// which nodes may be disrupted, when, in what order and how; why every other node
// stays; and what would happen if. It is the logic of Karpenter v1.14's
// disruption, termination and repair controllers as pure functions: facts go in, a
// decision and its reasons come out. Nothing here talks to an API server, a cloud,
// a clock, a log or a metrics registry.
//
// # One pass
//
// [Propose] is one pass of the disruption loop: a [Cluster] in, a [Plan] out.
//
//	var c disruption.Cluster
//	decoded, err := c.Decode(dump) // what kubectl get … -o json wrote
//	c.Now, c.Catalog = now, catalog
//	plan, err := disruption.Propose(ctx, &c, disruption.Options{})
//
// The plan holds the moves, a verdict on every node, what the budgets of each pool
// say and until when, what happens whatever budgets say (expiry, repair, nodes on
// their way out), and findings about the configuration. [Prepare] keeps the
// compiled cluster for further questions: [Pass.Ask] runs one method,
// [Pass.Planner] judges any set of nodes, [Pass.Snapshot] answers what-if
// questions, [Pass.Validate] judges an older move again.
//
// [Compare] tells two plans apart: the same cluster under another policy, or on
// another day.
//
// [Loop] is what a controller has to remember from pass to pass, as data.
//
// # The map
//
// Each package stands above those that it imports, and takes the smallest plain
// struct that it needs. Whoever has no NodePools uses them directly.
//
//	disruption      one pass of the loop: Cluster in, Plan out
//	  consolidation candidates, costs, scores, the search for moves that save money
//	  drift         is this node still what its pool asks for? hashes, roll-outs
//	    termination who may be evicted, in which order, until when; interruption: the clouds' notices
//	    scheduling  requirements, instance types, the compiled snapshot, where would these pods go
//	      budget    how many nodes may be disrupted, now and later
//	      repair    which nodes are sick, and when not to dare
//	      annotations the vocabulary
//
// # What holds everywhere
//
// Same arguments, same answer, to the byte, in whatever order the facts come and
// however many goroutines work on them. Inputs are never written to, and must not
// change while a compiled value made from them is in use; what is returned is the
// caller's. Every "no" is a value with a stable code, a message for a human and
// the objects it is about. What can't be read never leads to a disruption: bad
// input is a field.Error with the path of the field, and the rest is still judged.
// The zero value of every options struct is Karpenter v1.14; where the library goes
// further, it is an option with a name, or a new question.
//
// Prices are per hour, in any currency as long as it is one.
package disruption
