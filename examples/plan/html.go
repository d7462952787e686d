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
th { color: #57606a; font-weight: 600; }
.error { color: #b42318; } .warning { color: #9a6700; } h3 { font-size: 1em; margin: .75rem 0 0; } ul { margin: .25rem 0 1rem; }
</style></head><body>
<h1>Plan of {{.Now}}</h1>
<p>{{.Plan.Totals.Nodes}} nodes, {{.Plan.Totals.Pods}} pods, {{.Cost}}.
{{if .Plan.Moves}}This pass ({{.Plan.Method}}) removes {{.Plan.Totals.Removed}} and launches {{.Plan.Totals.Launched}}; it saves {{.Savings}}.{{else}}This pass disrupts no node.{{end}}</p>
{{range .Notes}}<p>{{.}}</p>{{end}}{{range .Errors}}<p class="error">{{.}}</p>{{end}}
<h2>Pools</h2><table><tr><th>Pool<th>Nodes<th>In use<th>Empty<th>Underutilized<th>Drifted<th>What binds</tr>
{{range .Pools}}<tr>{{range .}}<td>{{.}}{{end}}</tr>{{end}}</table>
{{range .Sections}}{{if .Blocks}}<h2>{{.Heading}}</h2>{{range .Blocks}}<h3>{{.Title}}</h3>{{if .Lines}}<ul>{{range .Lines}}<li>{{.}}{{end}}</ul>{{end}}{{end}}{{end}}{{end}}
<h2>Every other node</h2><table><tr><th>Node<th>Pool<th>Type<th>$/hour<th>Pods<th>Why it stays</tr>
{{range .Others}}<tr>{{range .}}<td>{{.}}{{end}}</tr>{{end}}</table>
{{if .Plan.Findings}}<h2>Findings</h2><ul>{{range .Plan.Findings}}<li class="{{.Severity}}"><b>{{.Code}}</b> {{.Message}}{{if .Fix}}; {{.Fix}}{{end}}{{end}}</ul>{{end}}
</body></html>
`))

// section is a heading with what stands under it.
type section struct {
	Heading string
	Blocks  []block
}

// writeHTML prints the plan as one page without scripts.
func writeHTML(w io.Writer, in *input, plan *disruption.Plan) error {
	var out bytes.Buffer
	err := page.Execute(&out, map[string]any{
		"Now": instant(plan.Now), "Plan": plan, "Notes": in.notes, "Errors": in.errors,
		"Cost": perHour(plan.Totals.Cost), "Savings": perHour(plan.Totals.Savings) + ", " + perMonth(plan.Totals.Savings),
		"Pools": poolRows(plan), "Others": otherRows(plan),
		"Sections": []section{
			{"Moves", moveBlocks(plan.Moves)}, {"Later, on the cluster as it is now", moveBlocks(plan.Outlook)},
			{"Best saving missed", missed(plan)}, {"Whatever budgets say", forceful(plan)},
		},
	})
	if err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}
