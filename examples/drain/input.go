package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/examples/internal/dump"
	"github.com/node-disruption/disruption/termination"
)

// input is what was read, and what the reader must be told about it.
type input struct {
	cluster disruption.Cluster
	errors  []error // what could not be read: file, document, field
}

// read takes in the files, or the sample if there are none: what can be read of
// them.
func (s *settings) read(stdin io.Reader) (*input, error) {
	in := &input{}
	if len(s.files) == 0 {
		_, in.errors = dump.Add(&in.cluster, "the sample", sample)
	}
	for _, name := range s.files {
		data, err := dump.Content(name, stdin)
		if err != nil {
			return nil, err
		}
		_, broken := dump.Add(&in.cluster, name, data)
		in.errors = append(in.errors, broken...)
	}
	if len(in.cluster.Nodes) == 0 {
		none := fmt.Errorf("%s: no nodes found; wanted is the output of kubectl get nodepools,nodeclaims,nodes,pods,pdb -A -o yaml", strings.Join(s.files, ", "))
		return nil, errors.Join(append(in.errors, none)...)
	}
	return in, nil
}

// nodes are those to drain, by name.
func (in *input) nodes(names []string, now time.Time) ([]termination.DrainNode, error) {
	const most = 10
	if len(names) == 0 && len(in.cluster.Nodes) > most {
		return nil, fmt.Errorf("there are %d nodes: say which to drain with -node, such as %s", len(in.cluster.Nodes), in.cluster.Nodes[0].Name)
	}
	var nodes []termination.DrainNode
	for _, node := range in.cluster.Nodes {
		if len(names) > 0 && !slices.Contains(names, node.Name) {
			continue
		}
		nodes = append(nodes, in.node(node, now))
	}
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(n termination.DrainNode) bool { return n.Name == name }) {
			return nil, fmt.Errorf("-node %q: there is no such node", name)
		}
	}
	return nodes, nil
}

// node with its pods, and what is left of its grace period if its end has begun.
func (in *input) node(node *corev1.Node, now time.Time) termination.DrainNode {
	n := termination.DrainNode{Name: node.Name}
	for _, pod := range in.cluster.Pods {
		if pod.Spec.NodeName == node.Name {
			n.Pods = append(n.Pods, pod)
		}
	}
	claim := in.claimOf(node)
	if claim == nil {
		return n
	}
	grace := claim.Spec.TerminationGracePeriod
	deadline, written, err := annotations.For("").TerminationDeadline(claim)
	switch {
	case err != nil:
		in.errors = append(in.errors, fmt.Errorf("node claim %s: %w; its node is taken to have no deadline", claim.Name, err))
	case written:
		left := deadline.Sub(now)
		n.GracePeriod = &left
	case grace != nil && claim.DeletionTimestamp != nil:
		left := claim.DeletionTimestamp.Add(grace.Duration).Sub(now)
		n.GracePeriod = &left
	case grace != nil:
		n.GracePeriod = &grace.Duration
	}
	return n
}

func (in *input) claimOf(node *corev1.Node) *disruption.NodeClaim {
	for _, claim := range in.cluster.NodeClaims {
		if claim.Status.NodeName == node.Name || node.Spec.ProviderID != "" && claim.Status.ProviderID == node.Spec.ProviderID {
			return claim
		}
	}
	return nil
}

// ledger of the PDBs; selectors that can't be read are errors.
func (in *input) ledger() *termination.Ledger {
	ledger, errs := termination.CompileLedger(in.cluster.PodDisruptionBudgets, in.cluster.Pods, termination.LedgerOptions{})
	for _, err := range errs {
		in.errors = append(in.errors, fmt.Errorf("left out, as the eviction API does: %w", err))
	}
	return ledger
}

// short is a name without the namespace, if that is plain from the context.
func short(pod *corev1.Pod) string {
	return strings.TrimPrefix(pod.Namespace+"/"+pod.Name, "default/")
}
