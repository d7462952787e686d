package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/node-disruption/disruption/examples/internal/golden"
)

func TestPictures(t *testing.T) {
	for name, args := range map[string][]string{
		"sample":       {"-from", "2026-08-24"},
		"pools-berlin": {"-from", "2026-03-27", "-to", "2026-03-30", "-tz", "Europe/Berlin", "-f", "testdata/pools.yaml"},
		"autumn":       {"-from", "2026-10-25", "-to", "2026-10-25", "-tz", "Europe/Berlin", "-f", "testdata/pools.yaml", "-nodes", "40", "-color", "always"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			svg := filepath.Join(t.TempDir(), "out.svg")
			code := run(append(args, "-svg", svg), time.Time{}, strings.NewReader(""), &stdout, &stderr)
			require.Zero(t, code, stderr.String())
			text, _, _ := strings.Cut(stdout.String(), "\ndrawn to")
			golden.Compare(t, name+".txt", text)
			drawn, err := os.ReadFile(svg)
			require.NoError(t, err)
			golden.Compare(t, name+".svg", string(drawn))
		})
	}
}

// Without dates it draws the week that now is in, from Monday on.
func TestDefaultsToThisWeek(t *testing.T) {
	now := time.Date(2026, 8, 30, 23, 0, 0, 0, time.UTC) // a Sunday
	c, err := parseFlags(nil, now, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 8, 24, 0, 0, 0, 0, time.UTC), c.from)
	c, err = parseFlags([]string{"-tz", "Pacific/Auckland"}, now, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, "Mon 31 Aug", c.from.Format("Mon 2 Jan"), "it is Monday there already")
}

func TestReadsStandardInput(t *testing.T) {
	var stdout, stderr bytes.Buffer
	in := `{"kind":"NodePool","metadata":{"name":"open"},"spec":{"disruption":{"budgets":[]}}}`
	require.Zero(t, run([]string{"-f", "-", "-from", "2026-08-24", "-to", "2026-08-24"}, time.Time{}, strings.NewReader(in), &stdout, &stderr))
	require.Contains(t, stdout.String(), "empty-list")
	require.Contains(t, stdout.String(), "∞")
}

func TestBadInputSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		code int
		want string
	}{
		{[]string{"-tz", "Mars"}, "", 2, "unknown time zone Mars"},
		{[]string{"-from", "monday"}, "", 2, "want a day as in 2026-08-24"},
		{[]string{"-from", "2026-08-24", "-to", "2026-08-01"}, "", 2, "want one day to a year"},
		{[]string{"-no-such-flag"}, "", 2, "no-such-flag"},
		{[]string{"-color", "blue"}, "", 2, "want auto, always or never"},
		{[]string{"pools.yaml"}, "", 2, "files are given with -f"},
		{[]string{"-f", "no-such-file"}, "", 2, "no such file"},
		{[]string{"-f", "-"}, "kind: ConfigMap", 2, "-: holds no NodePool"},
		{[]string{"-f", "-"}, "{", 2, "-: documents[0]: Invalid value: not JSON"},
		{[]string{"-f", "-"}, "kind: NodePool\nmetadata: {name: a}\nspec: {disruption: {budgets: [{nodes: '1'}, {nodes: '0', schedule: '@daily', duration: 1d}]}}", 2,
			`-: documents[0].spec.disruption.budgets[1].duration: Invalid value: "1d"`},
		{[]string{"-f", "-"}, "kind: NodePool", 2, "-: documents[0].metadata.name: Required value"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, c.code, run(c.args, time.Time{}, strings.NewReader(c.in), &stdout, &stderr), c.args)
		require.Contains(t, stderr.String(), c.want)
	}
}

// One broken pool doesn't hide the others.
func TestDrawsThePoolsThatCanBeRead(t *testing.T) {
	in := "kind: NodePool\nmetadata: {name: broken}\nspec: {disruption: {budgets: 3}}\n---\nkind: NodePool\nmetadata: {name: fine}\n"
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, run([]string{"-f", "-"}, time.Date(2026, 8, 24, 0, 0, 0, 0, time.UTC), strings.NewReader(in), &stdout, &stderr))
	require.Contains(t, stderr.String(), "-: documents[0].spec.disruption.budgets: Invalid value")
	require.Contains(t, stdout.String(), "NodePool fine, 10 nodes (assumed)")
}

// In Santiago the clock skips midnight: 6 September 2026 begins at 01:00. Its
// row has no hour 00, and the days beside it are whole.
func TestDaysWithoutMidnight(t *testing.T) {
	santiago, err := time.LoadLocation("America/Santiago")
	require.NoError(t, err)
	c := config{zone: santiago}
	require.NoError(t, c.parseDays("2026-09-05", "2026-09-07", time.Time{}))
	pools, err := decode("test", []byte("kind: NodePool\nmetadata: {name: p}"), 0)
	require.NoError(t, err)
	p := newPicture(c, pools[0])
	require.Len(t, p.rows, 9)
	for i, r := range p.rows {
		require.Equal(t, 5+i/3, r.day.Day())
		for hour, cell := range r.cells {
			require.Equal(t, r.day.Day() == 6 && hour == 0, cell.skipped, "%s %d", r.day, hour)
		}
	}
	require.Equal(t, time.Date(2026, 9, 6, 1, 0, 0, 0, santiago), p.rows[3].day)
}
