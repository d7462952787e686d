// Package annotations is the vocabulary of node disruption: the keys, labels,
// taints and values that the other packages read, each spelled once, and what
// their values mean.
//
// [For] gives the keys under a domain, Karpenter's own by default, so that an
// autoscaler with its own domain gets the same vocabulary under that.
//
// [Keys.PodProtection] and [Keys.NodeProtection] tell what do-not-disrupt
// amounts to at an instant: whether it protects, until when, or why its value
// means nothing. [Compile] and [Reader] do the same for the markers of several
// systems at once, and report what its authors most likely got wrong: a value
// without effect, a key that is no longer read, two markers that contradict
// each other.
//
// Everything here is a pure function of its arguments. What is returned belongs
// to the caller.
package annotations
