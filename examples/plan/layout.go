package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// width of the page.
const width = 100

// style writes with colours or without.
type style struct{ color bool }

func (s style) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) heading(text string) string { return s.paint("1", text) }
func (s style) good(text string) string    { return s.paint("32", text) }
func (s style) warn(text string) string    { return s.paint("33", text) }
func (s style) bad(text string) string     { return s.paint("31", text) }
func (s style) plain(text string) string   { return text }
func (s style) faint(text string) string   { return s.paint("2", text) }

// grid is rows of cells; the first row is the head. The last column is wrapped to
// what the page leaves, the others are cut at most columns.
type grid [][]string

const (
	// most is how wide a column but the last may be.
	most = 30
	// least is how wide the last column must be, or else it stands on lines of its
	// own.
	least = 40
)

// write prints the grid, indented.
func (g grid) write(w io.Writer, s style, indent int) {
	if len(g) == 0 {
		return
	}
	widths := g.widths()
	last := len(widths) - 1
	lead := indent
	for _, n := range widths[:last] {
		lead += n + 2
	}
	for i, row := range g {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", indent))
		for c, n := range widths[:last] {
			b.WriteString(pad(cut(row[c], n), n) + "  ")
		}
		text := hang(b.String(), row[last], lead)
		if i > 0 && width-lead < least {
			text = strings.TrimRight(b.String(), " ") + "\n" + hang(strings.Repeat(" ", indent+4), row[last], indent+4)
		}
		if i == 0 {
			text = s.faint(text)
		}
		fmt.Fprintln(w, text)
	}
}

// hang wraps text after a lead; its further lines stand under the first.
func hang(lead, text string, indent int) string {
	lines := wrap(text, max(width-indent, least/2))
	return strings.TrimRight(lead+strings.Join(lines, "\n"+strings.Repeat(" ", indent)), " ")
}

func (g grid) widths() []int {
	widths := make([]int, len(g[0]))
	for _, row := range g {
		for c, cell := range row {
			widths[c] = min(most, max(widths[c], utf8.RuneCountInString(cell)))
		}
	}
	return widths
}

func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(text)))
}

// cut keeps the end of a name that is too long: that is where names differ.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return "…" + string(runes[len(runes)-n+1:])
}

// wrap breaks text at blanks. A word that is longer than a line is broken too.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > n {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:n])), string(runes[n:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= n:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// paragraph prints wrapped text; lines after the first are indented by two more.
func paragraph(w io.Writer, indent int, text string) {
	for i, line := range wrap(text, width-indent-2) {
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintln(w, strings.Repeat(" ", indent)+line)
	}
}
