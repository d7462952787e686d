// Package oracle is a second simulator, slow and obvious: it follows the rules
// of Karpenter's simulation one by one, keeps no index and remembers nothing
// between questions. Tests hold the fast engine of package scheduling against it.
package oracle
