package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is how the replay of some directories ended, by kind.
type Report struct{ kinds []*kindReport }

type kindReport struct {
	label   string
	results []Result
}

// Run replays the files of cases in dirs; kind "" means all kinds. A directory
// without a case of that kind is an error: a check of nothing proves nothing.
func Run(kind string, dirs ...string) (*Report, error) {
	paths, err := Find(dirs...)
	if err != nil {
		return nil, err
	}
	report := &Report{}
	for _, path := range paths {
		file, err := Load(path)
		if err != nil {
			return nil, err
		}
		if kind == "" || kind == file.Label() || kind == file.Kind {
			report.add(file.Label(), Replay(file))
		}
	}
	if len(report.kinds) == 0 {
		return nil, fmt.Errorf("no recorded cases of kind %q in %s", kind, strings.Join(dirs, ", "))
	}
	slices.SortFunc(report.kinds, func(a, b *kindReport) int { return strings.Compare(a.label, b.label) })
	return report, nil
}

// add appends results to their kind; one kind may come from several files.
func (r *Report) add(label string, results []Result) {
	for _, k := range r.kinds {
		if k.label == label {
			k.results = append(k.results, results...)
			return
		}
	}
	r.kinds = append(r.kinds, &kindReport{label: label, results: results})
}

// Disagreements counts the cases that we decide differently.
func (r *Report) Disagreements(allowDivergences bool) int {
	agreed, total, _ := r.count(allowDivergences)
	return total - agreed
}

func (r *Report) count(allowDivergences bool) (agreed, total, divergences int) {
	for _, k := range r.kinds {
		a, d := k.count(allowDivergences)
		agreed, divergences, total = agreed+a, divergences+d, total+len(k.results)
	}
	return agreed, total, divergences
}

func (k *kindReport) count(allowDivergences bool) (agreed, divergences int) {
	for _, result := range k.results {
		switch {
		case result.Diff == "":
			agreed++
		case allowDivergences && result.Diverges != "":
			agreed++
			divergences++
		}
	}
	return agreed, divergences
}

// Write prints the report: a line per kind, at most show disagreements per
// kind, and the total.
func (r *Report) Write(w io.Writer, show int, allowDivergences bool) {
	for _, k := range r.kinds {
		agreed, _ := k.count(allowDivergences)
		fmt.Fprintf(w, "%s  %d/%d\n", k.label, agreed, len(k.results))
	}
	for _, k := range r.kinds {
		shown := 0
		for _, result := range k.results {
			if result.Diff == "" || allowDivergences && result.Diverges != "" || shown >= show {
				continue
			}
			shown++
			fmt.Fprintf(w, "\n%s: %s\n%s\n", k.label, result.Name, strings.TrimRight(result.Diff, "\n"))
			if result.Diverges != "" {
				fmt.Fprintf(w, "on purpose: %s\n", result.Diverges)
			}
		}
	}
	agreed, total, divergences := r.count(allowDivergences)
	if allowDivergences {
		fmt.Fprintf(w, "divergences %d\n", divergences)
	}
	fmt.Fprintf(w, "total %d/%d\n", agreed, total)
}
