// Package budget says how many nodes of a pool may be disrupted at once, for a
// reason, at an instant; and what that will be later.
//
// [Compile] reads the budgets of a NodePool into a [Set]. [Set.Evaluate] answers
// for an instant as Karpenter v1.14 does, and explains the answer: which budget
// binds, what uses it up, when that changes. [Set.Forecast] and
// [Set.NextAtLeast] answer for a span of time, [Set.Report] for a status page.
// [Count] derives a pool's [Usage] from its nodes, and a [Ledger] hands out what
// is allowed while moves are planned.
//
// # What a budget means
//
// The smallest limit among the active budgets that are about the reason wins. A
// budget with a schedule is active from each hit of it for its duration, [hit,
// hit+duration), in UTC. A percentage rounds up. What surprises people:
//
//   - While a budget is not active it limits nothing. A pool whose only budget
//     has a schedule has no limit at all outside of its window. [AllowOnly] says
//     what is mostly meant.
//   - The number is how many may go at the same time, not in all. [Rate] limits
//     that.
//   - One budget that can't be read brings all reasons of its pool to zero, also
//     those that it doesn't name. Such answers have the code [Unreadable].
//   - A schedule that never hits (30 February) is always active, as it is for
//     Karpenter, whose search for the next hit ends after five years. [Validate]
//     refuses it.
//
// [Validate] reports what the API server, or later the evaluation, will refuse;
// [Lint] reports what is valid and most likely not meant, and what to write
// instead.
//
// # Beyond Karpenter
//
// A [Budget] may name a TimeZone; then its window follows the clock on the wall
// there ([Window] says how, when that clock changes). [Accounting] charges
// disruptions per reason. [Rate] limits how many begin over time. [Scope]
// applies budgets across pools, to the cluster or per zone. None of that is on
// unless asked for.
//
// # Codes
//
// A [Verdict] is [Unbounded], [Available], [UsedUp], [Closed] or [Unreadable]; a
// [RateVerdict] may also be [TooSoon]. The codes of findings are the constants
// of type [LintCode].
//
// Everything here is a pure function of its arguments. Compiled values are
// immutable, and what is returned belongs to the caller. The one thing taken
// from the machine is its time zone database, through [time.LoadLocation], when
// a budget names a zone; import time/tzdata to carry it along.
package budget
