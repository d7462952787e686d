// Command compare runs two searches on recorded clusters, pass after pass until
// nothing moves any more, and prints what each ends at: Karpenter's prefix and
// single-node searches, and the better one. Empty nodes go first in both.
//
//	go run ./internal/compare internal/conformance/testdata
//
// There is a line for each search on each family of clusters, and one for all:
//
//	cost/h      of all nodes, before the first pass and after the last, in dollars
//	saved       the difference, as a share of the cost before
//	passes      that moved something, over all clusters
//	removed     nodes that went, and added that were launched for them
//	pods moved  from nodes that went to others; again in a later pass counts again
//	disruption  sum of the moves' disruption costs
//
// A pass is applied whole: the nodes are gone, new ones are the cheapest offering of
// the first instance type, pods are where the simulation put them, and all has been
// quiet for long enough.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/internal/conformance"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: compare DIR...") }
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, flag.Args()...); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// run compares on every whole snapshot in the directories.
func run(w io.Writer, dirs ...string) error {
	paths, err := conformance.Find(dirs...)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "snapshots\t\tsearch\tcost/h before\tafter\tsaved\tpasses\tnodes removed\tadded\tpods moved\tdisruption\t")
	var all [2]sum
	for _, path := range paths {
		file, err := conformance.Load(path)
		if err != nil {
			return err
		}
		if file.Kind != "e2e" {
			continue
		}
		sums, err := compare(file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for i := range all {
			all[i].add(sums[i])
			sums[i].print(table, file.Label(), searches[i].name)
		}
	}
	if all[0].clusters == 0 {
		return fmt.Errorf("no recorded snapshots in %s", strings.Join(dirs, ", "))
	}
	for i := range all {
		all[i].print(table, "all", searches[i].name)
	}
	return table.Flush()
}

// search finds the moves of one pass.
type search struct {
	name string
	find func(*consolidation.Planner, consolidation.Allowed) []*consolidation.Move
}

var searches = [2]search{{"prefix+single", karpenters}, {"best", best}}

func karpenters(p *consolidation.Planner, allowed consolidation.Allowed) []*consolidation.Move {
	if o := p.Multi(allowed); len(o.Moves) > 0 {
		return o.Moves
	}
	return p.Single(allowed, nil).Moves
}

func best(p *consolidation.Planner, allowed consolidation.Allowed) []*consolidation.Move {
	return p.Best(allowed).Moves
}

// compare runs both searches on every cluster of a file.
func compare(file *conformance.File) (sums [2]sum, err error) {
	for i := range searches {
		for j := range file.Cases {
			s, err := settle(file, &file.Cases[j], searches[i])
			if err != nil {
				return sums, fmt.Errorf("%s: %w", file.Cases[j].Name, err)
			}
			sums[i].add(s)
		}
	}
	return sums, nil
}

// sum is what a search did to some clusters.
type sum struct {
	clusters, passes, removed, added, moved int
	before, after, disruption               float64
}

func (s *sum) add(o sum) {
	s.clusters += o.clusters
	s.passes += o.passes
	s.removed += o.removed
	s.added += o.added
	s.moved += o.moved
	s.before += o.before
	s.after += o.after
	s.disruption += o.disruption
}

func (s *sum) print(w io.Writer, label, search string) {
	fmt.Fprintf(w, "%s\t%d\t%s\t%.2f\t%.2f\t%.1f%%\t%d\t%d\t%d\t%d\t%.0f\t\n", label, s.clusters, search,
		s.before, s.after, 100*(s.before-s.after)/s.before, s.passes, s.removed, s.added, s.moved, s.disruption)
}
