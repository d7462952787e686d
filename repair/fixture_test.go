package repair

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// with makes a node of pool "a" with its own claim, and conditions given as type,
// status and age, in threes.
func with(name string, conditions ...any) Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := 0; i < len(conditions); i += 3 {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type:               corev1.NodeConditionType(conditions[i].(string)),
			Status:             corev1.ConditionStatus(conditions[i+1].(string)),
			LastTransitionTime: metav1.NewTime(ago(conditions[i+2].(time.Duration))),
		})
	}
	return Node{Node: node, Pool: "a", Claims: []Claim{{Name: "claim-" + name, Pool: "a"}}}
}

func sick(name string, age time.Duration) Node { return with(name, "Ready", "False", age) }

func well(name string) Node { return with(name, "Ready", "True", time.Hour) }

// fleet has n nodes, of which the first u have been sick for an hour.
func fleet(n, u int) (nodes []Node) {
	for i := range n {
		if name := fmt.Sprintf("n%02d", i); i < u {
			nodes = append(nodes, sick(name, time.Hour))
		} else {
			nodes = append(nodes, well(name))
		}
	}
	return nodes
}

func aws() *Options { return &Options{Settings: Settings{Policies: AWS()}} }

// codes renders findings as "node:Code".
func codes(p Plan) (out []string) {
	for _, f := range p.Findings {
		if f.Code != CodeHealthy {
			out = append(out, f.Node+":"+string(f.Code))
		}
	}
	return out
}

func acted(p Plan) (out []string) {
	for _, a := range p.Actions {
		out = append(out, a.Node)
	}
	return out
}

func find(t *testing.T, p Plan, node string) Finding {
	for _, f := range p.Findings {
		if f.Node == node {
			return f
		}
	}
	t.Fatalf("no finding for %s", node)
	return Finding{}
}
