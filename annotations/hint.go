package annotations

import (
	"strconv"
	"strings"
)

// hint proposes what the author of an invalid do-not-disrupt value most likely
// meant, as the tail of a sentence, or nothing.
func hint(value string) string {
	trimmed := strings.TrimSpace(value)
	switch lower := strings.ToLower(trimmed); lower {
	case "":
		return ": write \"true\""
	case "true", "yes", "y", "on", "1", "t", "enabled":
		return ": only \"true\", in lower case and without blanks, protects"
	}
	if days, ok := strings.CutSuffix(trimmed, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 1e5 {
			return ": days are no unit here, write \"" + strconv.Itoa(24*n) + "h\""
		}
	}
	if _, err := strconv.Atoi(trimmed); err == nil {
		return ": the unit is missing, as in \"" + trimmed + "m\""
	}
	if trimmed != value {
		return ": no blanks around it"
	}
	return ""
}
