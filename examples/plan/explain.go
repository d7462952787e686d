package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
)

// explain tells everything about one node.
func explain(w io.Writer, s style, pass *disruption.Pass, plan *disruption.Plan, name string) error {
	for i := range plan.Nodes {
		if n := &plan.Nodes[i]; n.Name == name || n.Claim == name {
			explainNode(w, s, pass, n)
			return nil
		}
	}
	return fmt.Errorf("-explain %q: no such node; there are %s", name, few(nodeNames(plan)))
}

func nodeNames(plan *disruption.Plan) []string {
	names := make([]string, len(plan.Nodes))
	for i := range plan.Nodes {
		names[i] = plan.Nodes[i].Name
	}
	return names
}

func explainNode(w io.Writer, s style, pass *disruption.Pass, n *disruption.NodeReport) {
	fmt.Fprintln(w, s.heading("NODE "+n.Name))
	candidate, _ := pass.Planner().Fleet().Candidate(n.Name)
	g := grid{{"WHAT", "VALUE"},
		{"claim", n.Claim}, {"pool", n.Pool}, {"instance type", n.InstanceType}, {"zone", n.Zone}, {"capacity type", n.CapacityType},
		{"price", price(n.Price) + " per hour"},
		{"pods", fmt.Sprintf("%d, of which %d would have to move", n.Pods, n.Reschedulable)},
	}
	if candidate != nil {
		g = append(g, []string{"disruption cost", fmt.Sprintf("%.4g, which is 1 + what evicting the pods costs; %.4g $/h per unit of it", candidate.RescheduleDisruptionCost, candidate.SavingsRatio())})
	}
	g.write(w, s, 2)
	fmt.Fprintln(w, "\n"+s.heading("WHAT EACH METHOD SAYS"))
	if n.MovedBy != "" {
		paragraph(w, 2, s.good(string(n.MovedBy)+": takes the node in this pass"))
	}
	for _, v := range n.Verdicts {
		explainVerdict(w, s, v)
	}
	if candidate != nil && n.Claim != "" {
		explainAlone(w, s, pass.Planner().Evaluate(consolidation.MethodSingle, candidate))
	}
}

func explainVerdict(w io.Writer, s style, v disruption.Verdict) {
	if v.Would {
		paragraph(w, 2, s.good(fmt.Sprintf("%s: would take it, if its turn came", v.Method)))
		return
	}
	for i, r := range v.Reasons {
		lead := string(v.Method) + ":"
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		text := fmt.Sprintf("%s %s: %s", lead, r.Code, r.Message)
		if r.Until != nil {
			text += ", until " + instant(*r.Until)
		}
		if len(r.Objects) > 0 {
			text += " (" + few(r.Objects) + ")"
		}
		paragraph(w, 2, text)
	}
}

// explainAlone shows what would become of the node's pods whatever the rules say.
func explainAlone(w io.Writer, s style, m *consolidation.Move) {
	fmt.Fprintln(w, "\n"+s.heading("IF IT WERE REMOVED ALONE  whatever budgets and markers say"))
	paragraph(w, 2, fmt.Sprintf("%s: price %s, savings %s, %s", m.Decision, perHour(m.Price), perHour(m.Savings), perMonth(m.Savings)))
	for _, r := range m.Reasons {
		paragraph(w, 2, s.warn(string(r.Code))+": "+r.Message)
	}
	for i := range m.Replacements {
		paragraph(w, 2, fmt.Sprintf("new-%d  %s", i, replacement(&m.Replacements[i])))
	}
	for _, near := range m.Nearest {
		paragraph(w, 2, fmt.Sprintf("nearest in price: %s at %s", near.InstanceType, perHour(near.Price)))
	}
	if m.Score != nil {
		for _, p := range m.Score.Pools {
			paragraph(w, 2, fmt.Sprintf("score in %s: %.3g, needed %.3g (%.3g%% of the cost for %.3g%% of the disruption)",
				p.Pool, p.Score, p.Threshold, 100*p.SavingsFraction, 100*p.DisruptionFraction))
		}
	}
	for i := range m.Placements {
		at := &m.Placements[i]
		to := at.Node
		switch {
		case !at.Placed():
			to = "no place"
			if at.Reason != nil {
				to += ": " + at.Reason.Message
			}
		case to == "":
			to = fmt.Sprintf("new-%d", at.NewNode)
		}
		paragraph(w, 2, fmt.Sprintf("pod %s/%s → %s", at.Pod.Namespace, at.Pod.Name, to))
		for _, preference := range at.Preferences {
			paragraph(w, 6, preference.String())
		}
	}
}
