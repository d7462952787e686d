package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/examples/internal/dump"
)

// compare plans the cluster as it is and with the objects of a file in the place
// of those of the same kind and name, and prints what differs.
func (s *settings) compare(ctx context.Context, in *input, stdin io.Reader, stdout io.Writer) error {
	before, err := s.propose(ctx, in)
	if err != nil {
		return err
	}
	data, err := dump.Content(s.whatIf, stdin)
	if err != nil {
		return err
	}
	edit := &input{}
	edit.add(s.whatIf, data)
	edit.assume()
	in.replace(edit)
	after, err := s.propose(ctx, in)
	if err != nil {
		return err
	}
	c := disruption.Compare(before, after)
	if s.output == "json" {
		return writeJSON(stdout, c)
	}
	writeComparison(stdout, s.style(stdout), in, s.whatIf, &c)
	return nil
}

// replace puts the objects of an edit in the place of those of the same kind and
// name.
func (in *input) replace(edit *input) {
	c, by := &in.cluster, &edit.cluster
	c.NodePools = replaced(c.NodePools, by.NodePools)
	c.NodeClaims = replaced(c.NodeClaims, by.NodeClaims)
	c.Nodes = replaced(c.Nodes, by.Nodes)
	c.Pods = replaced(c.Pods, by.Pods)
	c.PodDisruptionBudgets = replaced(c.PodDisruptionBudgets, by.PodDisruptionBudgets)
	c.DaemonSets = replaced(c.DaemonSets, by.DaemonSets)
	c.PersistentVolumeClaims = replaced(c.PersistentVolumeClaims, by.PersistentVolumeClaims)
	c.PersistentVolumes = replaced(c.PersistentVolumes, by.PersistentVolumes)
	c.StorageClasses = replaced(c.StorageClasses, by.StorageClasses)
	c.CSINodes = replaced(c.CSINodes, by.CSINodes)
	c.VolumeAttachments = replaced(c.VolumeAttachments, by.VolumeAttachments)
	c.Namespaces = replaced(c.Namespaces, by.Namespaces)
	c.Unreadable = append(c.Unreadable, by.Unreadable...)
	in.errors, in.notes = append(in.errors, edit.errors...), append(in.notes, edit.notes...)
}

// replaced returns the list with the edits in the place of what they are edits of,
// or at its end.
func replaced[T metav1.Object](list, edits []T) []T {
	list = slices.Clone(list)
	for _, edit := range edits {
		i := slices.IndexFunc(list, func(o T) bool { return o.GetNamespace() == edit.GetNamespace() && o.GetName() == edit.GetName() })
		if i < 0 {
			list = append(list, edit)
		} else {
			list[i] = edit
		}
	}
	return list
}

func writeComparison(w io.Writer, s style, in *input, file string, c *disruption.Comparison) {
	fmt.Fprintln(w, s.heading("WHAT CHANGES with "+file))
	for _, note := range in.notes {
		paragraph(w, 2, "note: "+note)
	}
	g := grid{
		{"", "BEFORE", "AFTER"},
		{"saved by this pass", perHour(c.Before.Savings), perHour(c.After.Savings)},
		{"nodes removed", fmt.Sprint(c.Before.Removed), fmt.Sprint(c.After.Removed)},
		{"nodes launched", fmt.Sprint(c.Before.Launched), fmt.Sprint(c.After.Launched)},
		{"pods moved", fmt.Sprint(c.Before.Moved), fmt.Sprint(c.After.Moved)},
	}
	g.write(w, s, 2)
	if len(c.Nodes) == 0 {
		fmt.Fprintln(w, "\n"+s.heading("NODES  none has another fate"))
	} else {
		fmt.Fprintln(w, "\n"+s.heading(fmt.Sprintf("NODES  %d have another fate", len(c.Nodes))))
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		paragraph(w, 2, s.good(n.Node))
		paragraph(w, 6, "before: "+fate(n.Before))
		paragraph(w, 6, "after:  "+fate(n.After))
	}
	writeFindings(w, s, "FINDINGS  that are new", c.New)
	writeFindings(w, s, "FINDINGS  that are gone", c.Resolved)
}

func fate(f *disruption.Fate) string {
	if f == nil {
		return "not there"
	}
	return f.String()
}
