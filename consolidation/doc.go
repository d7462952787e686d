// Package consolidation decides which nodes can go, alone or together, so that
// a cluster costs less, and whether the saving is worth the disruption. It
// answers as Karpenter v1.14 does, and says why for every node that stays.
package consolidation
