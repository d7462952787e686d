// Package interruption reads what clouds say about the end of instances, and
// turns it into one kind of notice: what will happen, to which instance, when,
// and what to do about it.
//
// It reads Amazon EventBridge messages and the facts of DescribeInstanceStatus,
// Azure Scheduled Events, and the metadata values of Google Compute Engine. For
// Amazon's messages the answers are those of Karpenter v1.14; that a notice has a
// deadline, which Karpenter doesn't keep, is in addition to it.
//
// When the time is short, [Allot] shares it out among the pods of the node.
package interruption
