// Package annotations is the vocabulary of node disruption: the keys, labels,
// taints and values that the other packages read, each spelled once.
package annotations
