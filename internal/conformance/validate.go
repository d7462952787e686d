package conformance

import (
	"time"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// validation is a recorded answer, and ours in the same shape.
type validation struct {
	Valid bool     `json:"valid"`
	Code  string   `json:"code"`
	Nodes []string `json:"nodes"`
}

func replayValidate(f *File, c *Case) string {
	var in struct {
		Method  string   `json:"method"`
		Command command  `json:"command"`
		T1      snapshot `json:"t1"`
	}
	var want struct {
		validation
		Seen []validation `json:"seen"`
	}
	if d := decode(c.In, &in); d != "" {
		return d
	}
	if d := decode(c.Want, &want); d != "" {
		return d
	}
	cluster, err := in.T1.cluster(f)
	if err != nil {
		return err.Error()
	}
	pass, err := disruption.Prepare(cluster, in.T1.options())
	if err != nil {
		return "Prepare: " + err.Error()
	}
	move := in.Command.move(recordedMethod(in.Method), cluster)
	got := recordValidation(move, pass.Validate(move, time.Duration(0)))
	first := diff(got, want.validation)
	for _, seen := range want.Seen {
		if first == "" || diff(got, seen) == "" {
			return ""
		}
	}
	return first
}

func recordedMethod(name string) consolidation.Method {
	switch name {
	case "empty":
		return consolidation.MethodEmpty
	case "multi":
		return consolidation.MethodMulti
	}
	return consolidation.MethodSingle
}

// move makes the library's value of a recorded command.
func (cmd *command) move(method consolidation.Method, cluster *disruption.Cluster) *consolidation.Move {
	m := &consolidation.Move{Method: method, Decision: consolidation.Decision(cmd.Decision), Nodes: cmd.Nodes}
	for _, r := range cmd.Replacements {
		n := scheduling.NewNode{Pool: r.NodePool}
		for _, name := range r.InstanceTypes {
			for _, it := range cluster.Catalog.For(r.NodePool) {
				if it.Name == name {
					n.InstanceTypes = append(n.InstanceTypes, it)
				}
			}
		}
		m.Replacements = append(m.Replacements, consolidation.Replacement{NewNode: n})
	}
	return m
}

func recordValidation(m *consolidation.Move, v consolidation.Validation) validation {
	out := validation{Valid: v.Valid}
	if v.Valid {
		if m.Method == consolidation.MethodEmpty {
			out.Nodes = v.Nodes
		}
		return out
	}
	switch v.Reasons[0].Code {
	case consolidation.Churn:
		out.Code = "churn"
	case consolidation.BudgetChanged:
		out.Code = "budget"
	case consolidation.SchedulingChanged:
		out.Code = "scheduling"
	default:
		out.Code = "unknown"
	}
	return out
}
