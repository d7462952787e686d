// Package budget says how many nodes of a pool may be disrupted at once, for a
// reason, at an instant; and what that will be later.
package budget
