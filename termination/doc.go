// Package termination is the way from "this node shall go" to "it is gone": who
// may be evicted, in which order, until when, and what comes next.
//
// By default it answers as Karpenter v1.14 does. Everything is a function of the
// objects and an instant, except for [Runner], which takes the steps that the
// others propose.
//
//   - Pods: [IsReschedulable], [Rules.IsEvictable] and their like are the
//     predicates that all else is made of.
//   - PodDisruptionBudgets: [Limits] reads them as Karpenter does, one pod at a
//     time. [Ledger] answers as the eviction API itself, keeps account over many
//     pods and nodes, and knows what is blocked for ever and what would free it.
//   - Draining: [PlanDrain] says what to do with a node's pods now, and what each
//     of the others waits for. [Progress] remembers since when.
//   - To the end: [Next] and [NextClaim] are the steps of a node and its claim from
//     deleted to gone.
//   - Beforehand: [ScheduleOf] lays out a grace period, [ForecastDrain] the drain of
//     whole nodes, [PlanWaves] which of them can go together, and [Lint] what won't
//     work as intended.
//   - Expiration: [ExpiryOf], [ExpirySpread], [PlanExpirations] and [Jitter].
//
// Notices of clouds that an instance will end are read by the subpackage
// interruption.
//
// # Codes
//
// What a pod waits for: Evicting, DeadlineReached, Terminating, EarlierTier,
// DoNotDisrupt, PDBExhausted, MultiplePDBs, PDBUnobserved, PDBRefuses. What blocks it
// for ever: MultiplePDBs, MaxUnavailableZero, MinAvailableAll, MinAvailableTooHigh,
// PercentLeavesNone, PDBSyncFailed. Refusals of the API beside those of PDBs:
// TooManyRequests, DeniedByWebhook, NamespaceTerminating, Forbidden, APIError. What
// holds an expired node: BudgetExhausted, RampPending. Findings: grace-leq-pod-grace,
// grace-exceeds-window, expiry-without-grace, pdb-never-allows, pdb-overlap,
// pod-without-grace.
//
// # JSON
//
// Plans, forecasts and reports marshal for machines to read: pods and PDBs as
// namespace/name, durations as text like "1m30s", tiers by name, errors by their
// text. What is state, [Progress], can be read back, by [ParseProgress].
//
// # Ownership
//
// Inputs are only read. Answers hold the caller's own pods, and otherwise nothing
// of the input; slices and maps in them are the caller's. Compiled values, [Rules],
// [Limits] and what [CompileLedger] returns, keep nothing of what they were made
// from.
package termination
