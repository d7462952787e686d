// Rollout shows what an edit of NodePools would set off, before it is applied:
// which nodes would drift, because of which field, how many pods would move, and
// how long that takes under the pools' budgets.
//
//	kubectl get nodepools -o yaml > before.yaml
//	kubectl get nodes,nodeclaims,pods,pdb -A -o yaml > cluster.yaml
//	go run ./examples/rollout -before before.yaml -after after.yaml -f cluster.yaml -svg rollout.svg
//
// Without -after it shows a sample. Exit codes: 0 fine, 2 bad usage or input that is
// unreadable or partly so.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/node-disruption/disruption/drift"
	"github.com/node-disruption/disruption/examples/internal/dump"
)

func main() {
	os.Exit(run(os.Args[1:], time.Now(), os.Stdin, os.Stdout, os.Stderr))
}

// config is the command line.
type config struct {
	before, after, cluster, svg string
	now                         time.Time
	horizon                     time.Duration
	pace                        drift.Pace
}

func run(args []string, now time.Time, stdin io.Reader, stdout, stderr io.Writer) int {
	c, err := parseFlags(args, now, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = c.show(stdin, stdout)
	}
	if err != nil {
		dump.Complain(stderr, "rollout", err)
		return 2
	}
	return 0
}

func parseFlags(args []string, now time.Time, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("rollout", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.before, "before", "", "`file` with the NodePools as they are (default: those of -f)")
	flags.StringVar(&c.after, "after", "", "`file` with the NodePools as they are to be (default: a sample)")
	flags.StringVar(&c.cluster, "f", "", "`file` with nodes, node claims and pods; - reads standard input")
	flags.StringVar(&c.svg, "svg", "", "draw the roll-out to this `file` as well")
	at := flags.String("now", "", "the `instant` of the edit, as in 2026-03-13T15:00:00Z (default: now; a Friday for the sample)")
	days := flags.Int("days", 14, "how many days to look ahead")
	flags.DurationVar(&c.pace.PerNode, "per-node", 20*time.Minute, "how long it takes to replace one node")
	flags.DurationVar(&c.pace.Every, "every", 10*time.Second, "time between two decisions")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q: files are given with -before, -after and -f", flags.Arg(0))
	}
	if c.pace.PerNode <= 0 || c.pace.Every <= 0 || *days <= 0 {
		return c, errors.New("-per-node, -every and -days must be above zero")
	}
	if c.after != "" && c.cluster == "" {
		return c, errors.New("-after needs -f, the cluster that it is for")
	}
	if c.now = now; c.after == "" {
		c.now = time.Date(2026, 3, 13, 15, 0, 0, 0, time.UTC)
	}
	c.horizon = time.Duration(*days) * 24 * time.Hour
	var err error
	if *at != "" {
		if c.now, err = time.Parse(time.RFC3339, *at); err != nil {
			err = fmt.Errorf("-now %q: want a time like 2026-03-13T15:00:00Z", *at)
		}
	}
	return c, err
}

// show prints the roll-outs. Its error may be about single objects only, after what
// could be said without them.
func (c *config) show(stdin io.Reader, stdout io.Writer) error {
	in, unreadable, err := c.read(stdin)
	if err != nil {
		return err
	}
	rollouts, err := c.predict(in)
	if err != nil {
		return errors.Join(unreadable, err)
	}
	for i := range rollouts {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		rollouts[i].print(stdout)
	}
	if c.svg == "" {
		return unreadable
	}
	var out bytes.Buffer
	writeSVG(&out, rollouts)
	if err := os.WriteFile(c.svg, out.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\ndrawn to %s\n", c.svg)
	return unreadable
}
