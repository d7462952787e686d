package disruption_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the README shows is what the programs print: each excerpt stands in the
// golden file that it names, line by line and in order. "…" stands for what is
// left out.
func TestTheREADMEShowsWhatTheProgramsPrint(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	excerpts := regexp.MustCompile("(?s)<!-- from (\\S+) -->\n```\n(.*?)\n```").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, excerpts, 5)
	for _, excerpt := range excerpts {
		golden, err := os.ReadFile(excerpt[1])
		require.NoError(t, err)
		left := strings.Split(string(golden), "\n")
		for _, line := range strings.Split(excerpt[2], "\n") {
			if line == "…" || line == "" {
				continue
			}
			at := slices.Index(left, line)
			if !assert.GreaterOrEqual(t, at, 0, "%s doesn't print %q here", excerpt[1], line) {
				break
			}
			left = left[at+1:]
		}
	}
}
