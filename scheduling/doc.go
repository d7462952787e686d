// Package scheduling answers: if these nodes were gone, where would their pods
// go? It holds the requirements algebra, instance types and offerings, the
// compiled snapshot of a cluster and the simulation on it.
package scheduling
