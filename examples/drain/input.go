package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/termination"
)

// input is what was read, and what the reader must be told about it.
type input struct {
	cluster disruption.Cluster
	notes   []string
}

// read takes in the files, or the sample if there are none.
func (s *settings) read(stdin io.Reader) (*input, error) {
	in := &input{}
	if len(s.files) == 0 {
		return in, in.add("sample.yaml", sample)
	}
	for _, name := range s.files {
		data, err := content(name, stdin)
		if err != nil {
			return nil, err
		}
		if err := in.add(name, data); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func content(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// add takes in one stream of YAML or JSON documents.
func (in *input) add(name string, data []byte) error {
	var stream bytes.Buffer
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			document, err = yaml.ToJSON(document)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		stream.Write(document)
		stream.WriteByte('\n')
	}
	decoded, err := in.cluster.Decode(&stream)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, e := range decoded.Errors {
		in.notes = append(in.notes, name+": left out: "+e.Error())
	}
	return nil
}

// nodes are those to drain, by name.
func (in *input) nodes(names []string, now time.Time) ([]termination.DrainNode, error) {
	const most = 10
	if len(in.cluster.Nodes) == 0 {
		return nil, errors.New("no nodes found; wanted is the output of kubectl get nodeclaims,nodes,pods,pdb -A -o yaml")
	}
	if len(names) == 0 && len(in.cluster.Nodes) > most {
		return nil, fmt.Errorf("there are %d nodes: say which to drain with -node", len(in.cluster.Nodes))
	}
	var nodes []termination.DrainNode
	for _, node := range in.cluster.Nodes {
		if len(names) > 0 && !slices.Contains(names, node.Name) {
			continue
		}
		n, err := in.node(node, now)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(n termination.DrainNode) bool { return n.Name == name }) {
			return nil, fmt.Errorf("there is no node %q", name)
		}
	}
	return nodes, nil
}

func (in *input) node(node *corev1.Node, now time.Time) (termination.DrainNode, error) {
	n := termination.DrainNode{Name: node.Name}
	for _, pod := range in.cluster.Pods {
		if pod.Spec.NodeName == node.Name {
			n.Pods = append(n.Pods, pod)
		}
	}
	claim := in.claimOf(node)
	if claim == nil {
		return n, nil
	}
	if g := claim.Spec.TerminationGracePeriod; g != nil {
		n.GracePeriod = &g.Duration
	}
	deadline, ok, err := annotations.For("").TerminationDeadline(claim)
	if err != nil {
		return n, fmt.Errorf("node claim %s: %w", claim.Name, err)
	}
	if ok {
		left := deadline.Sub(now)
		n.GracePeriod = &left
	}
	return n, nil
}

func (in *input) claimOf(node *corev1.Node) *disruption.NodeClaim {
	for _, claim := range in.cluster.NodeClaims {
		if claim.Status.NodeName == node.Name || node.Spec.ProviderID != "" && claim.Status.ProviderID == node.Spec.ProviderID {
			return claim
		}
	}
	return nil
}

// ledger of the PDBs; selectors that can't be read are noted.
func (in *input) ledger() *termination.Ledger {
	ledger, errs := termination.CompileLedger(in.cluster.PodDisruptionBudgets, in.cluster.Pods, termination.LedgerOptions{})
	for _, err := range errs {
		in.notes = append(in.notes, "left out, as the eviction API does: "+err.Error())
	}
	return ledger
}

// short is a name without the namespace, if that is plain from the context.
func short(pod *corev1.Pod) string {
	return strings.TrimPrefix(pod.Namespace+"/"+pod.Name, "default/")
}
