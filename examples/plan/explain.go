package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// explained is all about one node.
type explained struct {
	Node *disruption.NodeReport `json:"node"`
	// Candidate has the node's costs.
	Candidate *consolidation.Candidate `json:"candidate"`
	// Alone is what would become of it by itself, whatever budgets and markers say,
	// and Placements where its pods would go; missing for a node without a claim.
	Alone      *consolidation.Move    `json:"alone,omitempty"`
	Placements []scheduling.Placement `json:"placements,omitempty"`
}

// explainNode tells everything about one node.
func (s *settings) explainNode(w io.Writer, pass *disruption.Pass, plan *disruption.Plan) error {
	for i := range plan.Nodes {
		if n := &plan.Nodes[i]; n.Name == s.explain || n.Claim == s.explain {
			e := newExplained(pass, n)
			if s.output == "json" {
				return writeJSON(w, e)
			}
			e.write(w, s.style(w))
			return nil
		}
	}
	return fmt.Errorf("-explain %q: no such node; there are %s", s.explain, few(nodeNames(plan)))
}

func newExplained(pass *disruption.Pass, n *disruption.NodeReport) *explained {
	e := &explained{Node: n}
	e.Candidate, _ = pass.Planner().Fleet().Candidate(n.Name)
	if n.Claim != "" {
		e.Alone = pass.Planner().Evaluate(consolidation.MethodSingle, e.Candidate)
		e.Placements = e.Alone.Placements
	}
	return e
}

func nodeNames(plan *disruption.Plan) []string {
	names := make([]string, len(plan.Nodes))
	for i := range plan.Nodes {
		names[i] = plan.Nodes[i].Name
	}
	return names
}

func (e *explained) write(w io.Writer, s style) {
	n, c := e.Node, e.Candidate
	fmt.Fprintln(w, s.heading("NODE "+n.Name))
	grid{{"WHAT", "VALUE"},
		{"claim", cmp.Or(n.Claim, "-")}, {"pool", cmp.Or(n.Pool, "-")}, {"instance type", cmp.Or(n.InstanceType, "-")},
		{"zone", cmp.Or(n.Zone, "-")}, {"capacity type", cmp.Or(n.CapacityType, "-")},
		{"price", price(n.Price) + " per hour"},
		{"pods", fmt.Sprintf("%d, of which %d would have to move", n.Pods, n.Reschedulable)},
		{"disruption cost", fmt.Sprintf("%.4g, which is 1 + what evicting the pods costs; %.4g $/h per unit of it", c.RescheduleDisruptionCost, c.SavingsRatio())},
	}.write(w, s, 2)
	fmt.Fprintln(w, "\n"+s.heading("WHAT EACH METHOD SAYS"))
	if n.MovedBy != "" {
		paragraph(w, 2, s.good(string(n.MovedBy)+": takes the node in this pass"))
	}
	for _, o := range opinions(n.Verdicts) {
		o.write(w, s)
	}
	if e.Alone != nil {
		explainAlone(w, s, e.Alone)
	}
}

// opinion is what one or several methods say alike.
type opinion struct {
	methods []string
	would   bool
	reasons []string
}

// opinions joins the verdicts that follow each other and say the same.
func opinions(verdicts []disruption.Verdict) []opinion {
	var list []opinion
	for _, v := range verdicts {
		reasons := make([]string, len(v.Reasons))
		for i, r := range v.Reasons {
			reasons[i] = reasonText(r)
		}
		if last := len(list) - 1; last >= 0 && list[last].would == v.Would && slices.Equal(list[last].reasons, reasons) {
			list[last].methods = append(list[last].methods, string(v.Method))
			continue
		}
		list = append(list, opinion{[]string{string(v.Method)}, v.Would, reasons})
	}
	return list
}

func reasonText(r consolidation.Reason) string {
	text := r.String()
	if r.Until != nil {
		text += ", until " + instant(*r.Until)
	}
	if len(r.Objects) > 0 {
		text += " (" + few(r.Objects) + ")"
	}
	return text
}

func (o opinion) write(w io.Writer, s style) {
	lead := strings.Join(o.methods, ", ") + ":"
	switch {
	case o.would:
		paragraph(w, 2, s.good(lead+" would take it, if its turn came"))
	case len(o.reasons) == 1:
		paragraph(w, 2, lead+" "+o.reasons[0])
	default:
		paragraph(w, 2, lead)
		for _, reason := range o.reasons {
			paragraph(w, 6, reason)
		}
	}
}

// explainAlone shows what would become of the node's pods whatever the rules say.
func explainAlone(w io.Writer, s style, m *consolidation.Move) {
	fmt.Fprintln(w, "\n"+s.heading("IF IT WERE REMOVED ALONE  whatever budgets and markers say"))
	verdict := fmt.Sprintf("%s: price %s", m.Decision, perHour(m.Price))
	if m.Decision != consolidation.NoOp {
		verdict += fmt.Sprintf(", savings %s, %s", perHour(m.Savings), perMonth(m.Savings))
	}
	paragraph(w, 2, verdict)
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
