// Command conformance replays recorded decisions against the library.
//
//	conformance [-kind K] [-allow-divergences] DIR...
//
// It prints one line per kind, "KIND  AGREED/TOTAL", the first few
// disagreements with name, got and want, and a last line "total AGREED/TOTAL".
// Exit codes: 0 all agree, 1 some disagree, 2 bad usage or unreadable cases.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/node-disruption/disruption/internal/conformance"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	kind := flags.String("kind", "", "replay only this kind (a family such as e2e-plain counts as one)")
	allow := flags.Bool("allow-divergences", false, "count named divergences as agreed when our answer is the one their list expects")
	show := flags.Int("show", 3, "how many disagreements to print")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: conformance [-kind K] [-allow-divergences] [-show N] DIR...")
		flags.PrintDefaults()
	}
	if flags.Parse(args) != nil {
		return 2
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	report, err := conformance.Run(*kind, flags.Args()...)
	if err != nil {
		fmt.Fprintln(stderr, "conformance:", err)
		return 2
	}
	report.Write(stdout, *show, *allow)
	if report.Disagreements(*allow) > 0 {
		return 1
	}
	return 0
}
