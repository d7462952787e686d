// Package repair answers: which nodes are sick enough to be replaced, and when
// are too many sick to dare?
package repair
