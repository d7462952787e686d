// Package drift answers: does this node still match what its pool asks for?
// And if not, which nodes are replaced first, and how?
package drift
