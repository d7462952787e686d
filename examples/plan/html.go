package main

import (
	"bytes"
	"html/template"
	"io"

	"github.com/node-disruption/disruption"
)

// page shows the table as it is printed, in a page that can be passed on.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Plan of {{.Now}}</title>
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; color: #1b1f24; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #d8dee4; }
th { color: #57606a; font-weight: 600; } .n { text-align: right; }
.error { color: #b42318; } .warning { color: #9a6700; } .move { color: #116329; }
</style></head><body>
<h1>Plan of {{.Now}}</h1>
<p>{{.Plan.Totals.Nodes}} nodes, {{.Plan.Totals.Pods}} pods, {{.Cost}}.
{{if .Plan.Moves}}This pass ({{.Plan.Method}}) removes {{.Plan.Totals.Removed}} and launches {{.Plan.Totals.Launched}}; it saves {{.Savings}}.{{else}}This pass disrupts no node.{{end}}</p>
{{range .Notes}}<p>{{.}}</p>{{end}}{{range .Errors}}<p class="error">{{.}}</p>{{end}}
<h2>Pools</h2><table><tr><th>Pool<th class="n">Nodes<th class="n">In use<th>Empty<th>Underutilized<th>Drifted<th>What binds</tr>
{{range .Pools}}<tr>{{range .}}<td>{{.}}{{end}}</tr>{{end}}</table>
<h2>Moves</h2>{{range .Moves}}<h3 class="move">{{.Title}}</h3><ul>{{range .Lines}}<li>{{.}}{{end}}</ul>{{end}}
<h2>Every other node</h2><table><tr><th>Node<th>Pool<th>Type<th class="n">$/hour<th class="n">Pods<th>Why it stays</tr>
{{range .Others}}<tr>{{range .}}<td>{{.}}{{end}}</tr>{{end}}</table>
{{if .Plan.Findings}}<h2>Findings</h2><ul>{{range .Plan.Findings}}<li class="{{.Severity}}"><b>{{.Code}}</b> {{.Message}}{{if .Fix}}; {{.Fix}}{{end}}{{end}}</ul>{{end}}
</body></html>
`))

type htmlMove struct {
	Title string
	Lines []string
}

// writeHTML prints the plan as one page without scripts.
func writeHTML(w io.Writer, in *input, plan *disruption.Plan) error {
	var out bytes.Buffer
	err := page.Execute(&out, map[string]any{
		"Now": instant(plan.Now), "Plan": plan, "Notes": in.notes, "Errors": in.errors,
		"Cost": perHour(plan.Totals.Cost), "Savings": perHour(plan.Totals.Savings) + ", " + perMonth(plan.Totals.Savings),
		"Pools": poolRows(plan), "Moves": htmlMoves(plan), "Others": otherRows(plan),
	})
	if err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

func htmlMoves(plan *disruption.Plan) []htmlMove {
	var moves []htmlMove
	add := func(lead string, list []disruption.Move) {
		for i := range list {
			m := &list[i]
			h := htmlMove{Title: lead + moveTitle(m)}
			for j := range m.Replacements {
				h.Lines = append(h.Lines, replacement(&m.Replacements[j]))
			}
			h.Lines = append(h.Lines, journeys(m)...)
			moves = append(moves, h)
		}
	}
	add("", plan.Moves)
	add("later: ", plan.Outlook)
	return moves
}
