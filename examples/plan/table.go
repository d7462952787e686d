package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/consolidation"
)

// hoursPerMonth is what clouds bill as a month.
const hoursPerMonth = 730

func perHour(price float64) string  { return fmt.Sprintf("$%.4f/h", price) }
func perMonth(price float64) string { return fmt.Sprintf("$%.2f/month", price*hoursPerMonth) }

// writeTable prints the plan for eyes.
func writeTable(w io.Writer, s style, in *input, plan *disruption.Plan) {
	writeSummary(w, s, in, plan)
	writePools(w, s, plan)
	writeMoves(w, s, plan)
	writeBlocks(w, s, "BEST SAVING MISSED", missed(plan))
	writeOthers(w, s, plan)
	writeBlocks(w, s, "WHATEVER BUDGETS SAY", forceful(plan))
	writeFindings(w, s, "FINDINGS", plan.Findings)
}

func writeSummary(w io.Writer, s style, in *input, plan *disruption.Plan) {
	t := plan.Totals
	fmt.Fprintln(w, s.heading(fmt.Sprintf("CLUSTER  %d nodes, %d pods, %d pools, %s   as of %s",
		t.Nodes, t.Pods, len(plan.Pools), perHour(t.Cost), instant(plan.Now))))
	for _, note := range in.notes {
		paragraph(w, 2, "note: "+note)
	}
	for _, e := range in.errors {
		paragraph(w, 2, s.bad("unreadable: ")+e.Error())
	}
	if plan.Interrupted != "" {
		paragraph(w, 2, s.bad("interrupted: ")+plan.Interrupted)
	}
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func writePools(w io.Writer, s style, plan *disruption.Plan) {
	if len(plan.Pools) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+s.heading("POOLS  how many more nodes the budgets let go now, by reason, and what binds"))
	g := grid{{"POOL", "NODES", "IN USE", "EMPTY", "UNDERUTILIZED", "DRIFTED", "WHAT BINDS"}}
	append(g, poolRows(plan)...).write(w, s, 2)
}

func poolRows(plan *disruption.Plan) [][]string {
	var g [][]string
	for i := range plan.Pools {
		p := &plan.Pools[i]
		row := []string{p.Name, fmt.Sprint(p.Nodes), fmt.Sprint(len(p.Charged))}
		for _, reason := range []budget.Reason{budget.Empty, budget.Underutilized, budget.Drifted} {
			row = append(row, allowance(verdict(p, reason)))
		}
		g = append(g, append(row, binding(p)))
	}
	return g
}

func verdict(p *disruption.PoolReport, reason budget.Reason) *budget.Verdict {
	for i := range p.Budgets {
		if p.Budgets[i].Reason == reason {
			return &p.Budgets[i]
		}
	}
	return &budget.Verdict{Binding: -1}
}

func allowance(v *budget.Verdict) string {
	if v.Limit >= budget.Unlimited {
		return "∞"
	}
	return fmt.Sprintf("%d of %d", v.Allowed, v.Limit)
}

// binding says for each distinct limit which budget sets it, and until when.
func binding(p *disruption.PoolReport) string {
	var parts []string
	for i := range p.Budgets {
		v := &p.Budgets[i]
		text := "nothing"
		if v.Binding >= 0 {
			text = fmt.Sprintf("budgets[%d]", v.Binding)
		}
		if v.NextChange != nil {
			text += " until " + instant(*v.NextChange)
		}
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

func writeMoves(w io.Writer, s style, plan *disruption.Plan) {
	if len(plan.Moves) == 0 {
		fmt.Fprintln(w, "\n"+s.heading("THIS PASS  no node is disrupted"))
	} else {
		fmt.Fprintln(w, "\n"+s.heading(fmt.Sprintf("THIS PASS  %s removes %s, launches %d, moves %s; saves %s, %s", plan.Method,
			count(plan.Totals.Removed, "node"), plan.Totals.Launched, count(plan.Totals.Moved, "pod"), perHour(plan.Totals.Savings), perMonth(plan.Totals.Savings))))
	}
	for _, b := range moveBlocks(plan.Moves) {
		b.write(w, s.good)
	}
	if len(plan.Outlook) > 0 {
		fmt.Fprintln(w, "\n"+s.heading("LATER  what the next methods would do on the cluster as it is now"))
	}
	for _, b := range moveBlocks(plan.Outlook) {
		b.write(w, s.good)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// block is a line with further ones under it.
type block struct {
	Title string
	Lines []string
}

func (b block) write(w io.Writer, paint func(string) string) {
	paragraph(w, 2, paint(b.Title))
	for _, line := range b.Lines {
		paragraph(w, 6, line)
	}
}

func moveBlock(m *disruption.Move) block {
	b := block{Title: moveTitle(m)}
	for i := range m.Replacements {
		b.Lines = append(b.Lines, fmt.Sprintf("new-%d  %s", i, replacement(&m.Replacements[i])))
	}
	b.Lines = append(b.Lines, journeys(m)...)
	return b
}

func moveBlocks(moves []disruption.Move) []block {
	var list []block
	for i := range moves {
		list = append(list, moveBlock(&moves[i]))
	}
	return list
}

// moveTitle is what goes, and what that saves.
func moveTitle(m *disruption.Move) string {
	saved, amount := "saves", m.Savings
	if amount < 0 {
		saved, amount = "costs", -amount
	}
	return fmt.Sprintf("%s %s   %s %s, %s (%s)", m.Decision, strings.Join(m.Nodes, ", "), saved, perHour(amount), perMonth(amount), m.Method)
}

// replacement names the node that would come.
func replacement(r *consolidation.Replacement) string {
	text := "node pool " + r.Pool
	if n := len(r.InstanceTypes); n > 0 {
		text += ", " + r.InstanceTypes[0].Name
		if r.Price > 0 {
			text += " at " + perHour(r.Price)
		}
		if n > 1 {
			text += fmt.Sprintf(" or one of %d others", n-1)
		}
	}
	return text
}

// journeys groups the pods of a move by where they go.
func journeys(m *disruption.Move) []string {
	to := map[string][]string{}
	for _, p := range m.Pods {
		to[p.To] = append(to[p.To], p.Pod)
	}
	var lines []string
	for node, pods := range to {
		slices.Sort(pods)
		lines = append(lines, fmt.Sprintf("→ %s  %s", cmp.Or(node, "nowhere"), few(pods)))
	}
	slices.Sort(lines)
	return lines
}

// few lists the first names, and how many more there are.
func few(names []string) string {
	if len(names) <= 6 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
}

// missed is the best saving that nothing makes, and why.
func missed(plan *disruption.Plan) []block {
	m := plan.Missed
	if m == nil {
		return nil
	}
	b := block{Title: fmt.Sprintf("%s %s would save %s, %s; in its way:", m.Move.Decision, strings.Join(m.Move.Nodes, ", "), perHour(m.Move.Savings), perMonth(m.Move.Savings))}
	for _, r := range m.Reasons {
		b.Lines = append(b.Lines, r.String())
	}
	return []block{b}
}

// writeBlocks prints a section, unless it is empty.
func writeBlocks(w io.Writer, s style, heading string, blocks []block) {
	if len(blocks) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+s.heading(heading))
	for _, b := range blocks {
		b.write(w, s.plain)
	}
}

// writeOthers lists the nodes that stay, those whose removal would save most
// first.
func writeOthers(w io.Writer, s style, plan *disruption.Plan) {
	rows := otherRows(plan)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+s.heading("EVERY OTHER NODE  and the first reason why it stays; by what its removal could save"))
	append(grid{{"NODE", "POOL", "TYPE", "$/HOUR", "PODS", "WHY IT STAYS"}}, rows...).write(w, s, 2)
}

func otherRows(plan *disruption.Plan) [][]string {
	var others []*disruption.NodeReport
	for i := range plan.Nodes {
		if plan.Nodes[i].MovedBy == "" {
			others = append(others, &plan.Nodes[i])
		}
	}
	slices.SortFunc(others, func(a, b *disruption.NodeReport) int {
		return cmp.Or(cmp.Compare(b.Price, a.Price), cmp.Compare(a.Name, b.Name))
	})
	var g [][]string
	for _, n := range others {
		g = append(g, []string{n.Name, cmp.Or(n.Pool, "-"), cmp.Or(n.InstanceType, "-"), price(n.Price), fmt.Sprint(n.Pods), why(n)})
	}
	return g
}

func price(p float64) string {
	if p == 0 {
		return "?"
	}
	return fmt.Sprintf("%.4f", p)
}

// why is the first reason, or when the node's turn would come.
func why(n *disruption.NodeReport) string {
	if fate := n.Fate(); fate.Later {
		return fmt.Sprintf("later: %s would take it", fate.Method)
	}
	reason, method, ok := n.First()
	if !ok {
		return "no method was asked"
	}
	text := fmt.Sprintf("%s: %s", reason.Code, reason.Message)
	if reason.Code == consolidation.NotReached {
		text = "another node goes first"
	}
	if reason.Until != nil {
		text += " (until " + instant(*reason.Until) + ")"
	}
	if n.Alone != nil && len(n.Alone.Reasons) == 0 {
		return fmt.Sprintf("a %s of it alone would save %s; %s", n.Alone.Decision, perHour(n.Alone.Savings), text)
	}
	if !everyMethod(reason.Code) {
		text = fmt.Sprintf("%s [%s]", text, method)
	}
	return text
}

// everyMethod: the reason is about the node, not about what one method wants.
func everyMethod(code consolidation.Code) bool {
	switch code {
	case consolidation.Unmanaged, consolidation.NotJoined, consolidation.NotInitialized, consolidation.Deleting, consolidation.Nominated,
		consolidation.NodeDoNotDisrupt, consolidation.PodDoNotDisrupt, consolidation.PDBBlocks, consolidation.SeveralPDBs, consolidation.InMove:
		return true
	}
	return false
}

// forceful is what no budget holds back.
func forceful(plan *disruption.Plan) []block {
	var list []block
	add := func(format string, args ...any) { list = append(list, block{Title: fmt.Sprintf(format, args...)}) }
	for _, e := range plan.Forceful.Expired {
		add("expired: %s, since %s", e.Node, instant(e.At))
	}
	for _, e := range plan.Forceful.Expiring {
		add("expires soon: %s, at %s", e.Node, instant(e.At))
	}
	for _, r := range plan.Forceful.Repairs {
		add("sick: %s, %s", r.Node, r.Message)
	}
	for _, t := range plan.Forceful.Terminating {
		until := "no deadline"
		if t.Deadline != nil {
			until = "deadline " + instant(*t.Deadline)
		}
		add("terminating: %s, since %s, %s", t.Node, instant(t.Since), until)
		list[len(list)-1].Lines = t.Waiting
		if t.Problem != "" {
			list[len(list)-1].Lines = []string{t.Problem}
		}
	}
	return list
}

func writeFindings(w io.Writer, s style, heading string, list []disruption.Finding) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+s.heading(heading))
	paint := map[budget.Severity]func(string) string{budget.SeverityError: s.bad, budget.SeverityWarning: s.warn, budget.SeverityInfo: s.plain}
	for i := range list {
		f := &list[i]
		severity := string(f.Severity)
		paragraph(w, 2, paint[f.Severity](severity)+strings.TrimPrefix(f.String(), severity))
	}
}
