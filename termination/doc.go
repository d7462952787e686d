// Package termination is the way from "this node shall go" to "it is gone": who
// may be evicted, in which order, until when, and what comes next.
package termination
