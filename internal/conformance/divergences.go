package conformance

import "strings"

// divergence is a recorded case that we decide differently on purpose.
type divergence struct {
	label  string // the kind as the command prints it
	name   string // the case
	reason string // why ours is right
	// expect must be part of the disagreement's text, so that the list only
	// covers the answer that it was written for.
	expect string
}

// divergences is the whole list. Good reasons are few: the original's answer is
// random, or it fails open.
func divergences() []divergence {
	return nil
}

// divergesOnPurpose returns the reason if the disagreement is a named one.
func divergesOnPurpose(label, name, diff string) string {
	for _, d := range divergences() {
		if d.label == label && d.name == name && strings.Contains(diff, d.expect) {
			return d.reason
		}
	}
	return ""
}
