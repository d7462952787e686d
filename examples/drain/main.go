// Command drain foretells how the drain of some nodes would go: when each pod is
// evicted or deleted and with which grace, when the nodes are empty, and what
// stands in the way.
//
//	go run ./examples/drain                                three nodes shipped with it
//	kubectl get nodeclaims,nodes,pods,pdb -A -o yaml | go run ./examples/drain -f - -node node-1,node-2
//	go run ./examples/drain -svg drain.svg                 a drawing as well
//	go run ./examples/drain -o json                        for machines
//
// It reads YAML or JSON, gzipped or not. Exit codes: 0 fine, 1 the drain can't end by
// -by, 2 bad usage or input. What can be read of bad input is answered all the same;
// the errors name file, document and field.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/node-disruption/disruption/examples/internal/dump"
	"github.com/node-disruption/disruption/termination"
)

//go:embed sample.yaml
var sample []byte

// sampleNow is when the sample was taken: a Tuesday evening.
const sampleNow = "2026-11-24T22:00:00Z"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// settings are the flags.
type settings struct {
	files    []string
	nodes    []string
	now      string
	end      *time.Time // nil if nobody asks
	svg      string
	output   string
	recovery time.Duration
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("drain", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: drain [-f FILE]... [-node NAMES]... [-now TIME] [-by TIME] [-recovery DURATION] [-svg FILE] [-o text|json]")
		flags.PrintDefaults()
	}
	flags.Func("f", "`FILE` with nodes, node claims, pods and PDBs; - is standard input (repeatable)", func(name string) error {
		s.files = append(s.files, name)
		return nil
	})
	flags.Func("node", "`NAMES` of the nodes to drain, by commas (repeatable; all, if there are ten at most)", func(names string) error {
		s.nodes = append(s.nodes, strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
		return nil
	})
	flags.StringVar(&s.now, "now", "", "`TIME` at which the drain begins, RFC3339 (default: the clock; with the sample, its own)")
	by := flags.String("by", "", "`TIME` by which the nodes must be drained, RFC3339")
	flags.StringVar(&s.output, "o", "text", "text or json")
	flags.StringVar(&s.svg, "svg", "", "`FILE` to draw the timeline into")
	flags.DurationVar(&s.recovery, "recovery", time.Minute, "how long a pod takes to be replaced by a healthy one")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q: files are given with -f, nodes with -node", flags.Arg(0))
	case s.output != "text" && s.output != "json":
		return nil, fmt.Errorf("-o %q: want text or json", s.output)
	case s.recovery < 0:
		return nil, fmt.Errorf("-recovery %s: want no less than 0", s.recovery)
	case *by != "":
		end, err := parseInstant("by", *by)
		if err != nil {
			return nil, err
		}
		s.end = &end
	}
	return s, nil
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var late bool
	if err == nil {
		late, err = s.show(stdin, stdout)
	}
	switch {
	case err != nil:
		dump.Complain(stderr, "drain", err)
		return 2
	case late:
		return 1
	}
	return 0
}

// show prints the forecast, and reports whether the drain must be late. Its error
// may be about single objects only, after the forecast for the others.
func (s *settings) show(stdin io.Reader, stdout io.Writer) (late bool, err error) {
	now, err := s.instant()
	if err != nil {
		return false, err
	}
	in, err := s.read(stdin)
	if err != nil {
		return false, err
	}
	p, err := newPicture(in, s, now)
	if err != nil {
		return false, errors.Join(append(in.errors, err)...)
	}
	var feasible *termination.Feasibility
	if s.end != nil {
		answer := p.forecast.By(*s.end)
		feasible, late = &answer, answer.Certainty == termination.Impossible
	}
	var out bytes.Buffer
	if s.output == "json" {
		if err := p.writeJSON(&out, feasible); err != nil {
			return false, err
		}
	} else {
		p.writeText(&out, feasible)
	}
	if s.svg != "" {
		var drawing bytes.Buffer
		p.writeSVG(&drawing)
		if err := os.WriteFile(s.svg, drawing.Bytes(), 0o644); err != nil {
			return false, err
		}
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		return false, err
	}
	return late, errors.Join(in.errors...)
}

func (s *settings) instant() (time.Time, error) {
	switch {
	case s.now == "" && len(s.files) == 0:
		return parseInstant("now", sampleNow)
	case s.now == "":
		return time.Now().UTC().Truncate(time.Second), nil
	}
	return parseInstant("now", s.now)
}

func parseInstant(name, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("-%s %q: want a time like %s", name, text, sampleNow)
	}
	return t.UTC(), nil
}
