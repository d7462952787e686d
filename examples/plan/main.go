// Command plan prints what one pass of Karpenter's disruption controller would do
// to a cluster, what that saves, and for every other node why it stays.
//
//	go run ./examples/plan                                 a small cluster shipped with it
//	kubectl get nodepools,nodeclaims,nodes,pods,pdb,daemonsets,pvc,pv,storageclasses,csinodes,namespaces -A -o yaml |
//	  go run ./examples/plan -f - -instance-types types.json
//
// It reads YAML or JSON, one document or many, Lists or single objects, gzipped
// or not. Objects that can't be read are named on standard error with their file,
// document and field, and what they may be about is left alone; the rest is still
// planned. Exit codes: 0 fine, 2 bad usage or input that is unreadable or partly so.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/examples/internal/dump"
	"github.com/node-disruption/disruption/repair"
	"github.com/node-disruption/disruption/scheduling"
)

//go:embed sample.yaml
var sample []byte

//go:embed sample-types.json
var sampleTypes []byte

// sampleNow is when the sample was taken: a Tuesday evening.
const sampleNow = "2026-11-24T22:00:00Z"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	files         []string
	instanceTypes string
	now           string
	output        string
	explain       string
	whatIf        string
	spotToSpot    bool
	preferences   string
	color         string
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("plan", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Func("f", "`file` with objects of the cluster, - for standard input; may be given again", func(name string) error {
		s.files = append(s.files, name)
		return nil
	})
	flags.StringVar(&s.instanceTypes, "instance-types", "", "`file` with the instance types and prices that replacements need")
	flags.StringVar(&s.now, "now", "", "the `time` of the pass, RFC3339; by default the clock's, or the sample's")
	flags.StringVar(&s.output, "o", "table", "table, json or html")
	flags.StringVar(&s.explain, "explain", "", "tell everything about one `node`")
	flags.StringVar(&s.whatIf, "what-if", "", "tell what would change if the objects of this `file` were in the place of those of the same kind and name")
	flags.BoolVar(&s.spotToSpot, "spot-to-spot", false, "allow spot nodes to be replaced by cheaper spot nodes")
	flags.StringVar(&s.preferences, "preferences", string(scheduling.PreferencesRespect), "Respect or Ignore what pods merely prefer, as Karpenter's setting of that name")
	flags.StringVar(&s.color, "color", "auto", "auto, always or never")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: plan [-f FILE]... [-instance-types FILE] [-now TIME] [-o table|json|html] [-explain NODE | -what-if FILE]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q: files are given with -f", flags.Arg(0))
	case s.output != "table" && s.output != "json" && s.output != "html":
		return nil, fmt.Errorf("-o %q: want table, json or html", s.output)
	case s.explain != "" && s.output == "html":
		return nil, errors.New("-explain prints a table or json")
	case s.whatIf != "" && (s.explain != "" || s.output == "html"):
		return nil, errors.New("-what-if is for itself, and prints a table or json")
	case s.preferences != string(scheduling.PreferencesRespect) && s.preferences != string(scheduling.PreferencesIgnore):
		return nil, fmt.Errorf("-preferences %q: want Respect or Ignore", s.preferences)
	case s.color != "auto" && s.color != "always" && s.color != "never":
		return nil, fmt.Errorf("-color %q: want auto, always or never", s.color)
	}
	return s, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = s.plan(ctx, stdin, stdout)
	}
	if err != nil {
		dump.Complain(stderr, "plan", err)
		return 2
	}
	return 0
}

// plan reads the cluster, asks the library, and prints the answer. Its error may
// be about single objects only, after the plan for the others.
func (s *settings) plan(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	in, err := s.read(stdin)
	if err != nil {
		return err
	}
	if s.whatIf != "" {
		err = s.compare(ctx, in, stdin, stdout)
	} else {
		err = s.answer(ctx, in, stdout)
	}
	if err != nil {
		return err
	}
	return errors.Join(in.errors...)
}

// answer prints the plan, or all about one node.
func (s *settings) answer(ctx context.Context, in *input, stdout io.Writer) error {
	pass, err := disruption.Prepare(&in.cluster, s.options())
	if err != nil {
		return err
	}
	plan := pass.Plan(ctx)
	switch {
	case s.explain != "":
		return s.explainNode(stdout, pass, plan)
	case s.output == "json":
		return writeJSON(stdout, plan)
	case s.output == "html":
		return writeHTML(stdout, in, plan)
	}
	writeTable(stdout, s.style(stdout), in, plan)
	return nil
}

func (s *settings) options() disruption.Options {
	return disruption.Options{
		AllMethods:     true,
		Explain:        s.explain != "",
		Scheduling:     scheduling.Options{Preferences: scheduling.PreferencePolicy(s.preferences)},
		Consolidation:  consolidation.Options{SpotToSpot: s.spotToSpot},
		RepairPolicies: repair.AWS(),
		Workers:        runtime.GOMAXPROCS(0),
	}
}

func (s *settings) propose(ctx context.Context, in *input) (*disruption.Plan, error) {
	return disruption.Propose(ctx, &in.cluster, s.options())
}

// read takes in the files, or the sample if there are none.
func (s *settings) read(stdin io.Reader) (*input, error) {
	in, err := s.readCluster(stdin)
	if err != nil {
		return nil, err
	}
	if err := s.readTypes(in, stdin); err != nil {
		return nil, err
	}
	if in.cluster.Now, err = s.instant(); err != nil {
		return nil, err
	}
	in.assume()
	return in, nil
}

func (s *settings) readCluster(stdin io.Reader) (*input, error) {
	if len(s.files) > 0 {
		return read(s.files, stdin)
	}
	in := &input{}
	in.add("the sample", sample)
	in.notes = append(in.notes, "no -f given: this is the sample cluster, as of "+sampleNow)
	return in, nil
}

func (s *settings) readTypes(in *input, stdin io.Reader) (err error) {
	var catalog *scheduling.Catalog
	switch {
	case s.instanceTypes != "":
		catalog, err = readCatalog(s.instanceTypes, stdin)
	case len(s.files) == 0:
		catalog, err = parseCatalog("the sample's instance types", sampleTypes)
	default:
		catalog = disruption.ObservedTypes(&in.cluster, "")
		in.notes = append(in.notes, "no -instance-types given: prices are unknown, and nodes can be deleted but not replaced")
	}
	if err == nil {
		in.cluster.Catalog = *catalog
	}
	return err
}

func (s *settings) instant() (time.Time, error) {
	text := s.now
	if text == "" && len(s.files) == 0 {
		text = sampleNow
	}
	if text == "" {
		return time.Now().UTC(), nil
	}
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return now, fmt.Errorf("-now %q: want a time like 2026-11-24T22:00:00Z", text)
	}
	return now, nil
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// style decides about colours: only a person's terminal gets any.
func (s *settings) style(w io.Writer) style {
	switch s.color {
	case "always":
		return style{color: true}
	case "never":
		return style{}
	}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || strings.EqualFold(os.Getenv("TERM"), "dumb") {
		return style{}
	}
	info, err := f.Stat()
	return style{color: err == nil && info.Mode()&os.ModeCharDevice != 0}
}
