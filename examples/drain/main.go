// Command drain foretells how the drain of some nodes would go: when each pod is
// evicted or deleted and with which grace, when the nodes are empty, and what
// stands in the way.
//
//	go run ./examples/drain                                three nodes shipped with it
//	kubectl get nodeclaims,nodes,pods,pdb -A -o yaml | go run ./examples/drain -f - -node node-1,node-2
//	go run ./examples/drain -svg drain.svg                 a drawing as well
//
// It reads YAML or JSON. Exit codes: 0 fine, 1 the drain can't end by -by, 2 bad
// usage or unreadable input.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
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
	by       string
	svg      string
	recovery time.Duration
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("drain", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Func("f", "`FILE` with nodes, node claims, pods and PDBs; - is standard input (repeatable)", func(name string) error {
		s.files = append(s.files, name)
		return nil
	})
	flags.Func("node", "`NAMES` of the nodes to drain, by commas (repeatable; all, if there are ten at most)", func(names string) error {
		s.nodes = append(s.nodes, strings.Split(names, ",")...)
		return nil
	})
	flags.StringVar(&s.now, "now", "", "`TIME` at which the drain begins, RFC3339 (default: the clock; with the sample, its own)")
	flags.StringVar(&s.by, "by", "", "`TIME` by which the nodes must be drained, RFC3339")
	flags.StringVar(&s.svg, "svg", "", "`FILE` to draw the timeline into")
	flags.DurationVar(&s.recovery, "recovery", time.Minute, "how long a pod takes to be replaced by a healthy one")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: files are given with -f, nodes with -node", flags.Arg(0))
	}
	return s, nil
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if err == flag.ErrHelp {
		return 0
	}
	if err == nil {
		var late bool
		if late, err = s.show(stdin, stdout, stderr); err == nil && late {
			return 1
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "drain:", err)
		return 2
	}
	return 0
}

// show prints the forecast, and reports whether the drain must be late.
func (s *settings) show(stdin io.Reader, stdout, stderr io.Writer) (late bool, err error) {
	now, err := s.instant()
	if err != nil {
		return false, err
	}
	in, err := s.read(stdin)
	if err != nil {
		return false, err
	}
	for _, note := range in.notes {
		fmt.Fprintln(stderr, "drain:", note)
	}
	p, err := newPicture(in, s, now)
	if err != nil {
		return false, err
	}
	var out bytes.Buffer
	p.writeText(&out)
	if s.by != "" {
		if late, err = p.writeFeasibility(&out, s.by); err != nil {
			return false, err
		}
	}
	if s.svg != "" {
		var drawing bytes.Buffer
		p.writeSVG(&drawing)
		if err := os.WriteFile(s.svg, drawing.Bytes(), 0o644); err != nil {
			return false, err
		}
	}
	_, err = stdout.Write(out.Bytes())
	return late, err
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
		return t, fmt.Errorf("-%s %q: write it as %s", name, text, sampleNow)
	}
	return t.UTC(), nil
}
