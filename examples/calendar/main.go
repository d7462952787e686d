// Calendar draws what the disruption budgets of a NodePool allow, hour by hour:
// how many nodes may be disrupted, per reason. Underneath it lists what is
// wrong with the budgets and what to write instead.
//
//	kubectl get nodepools -o yaml | go run ./examples/calendar -f -
//
// Without -f it draws a sample: weekend-only budgets, as many people have
// written them, which never allow anything. Exit codes: 0 fine, 2 bad usage or input
// that is unreadable or partly so.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
	_ "time/tzdata"

	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/examples/internal/dump"
)

//go:embed sample.yaml
var sample []byte

func main() {
	os.Exit(run(os.Args[1:], time.Now(), os.Stdin, os.Stdout, os.Stderr))
}

// config is the command line.
type config struct {
	file     string
	svg      string
	size     int
	zone     *time.Location
	from, to time.Time
	color    bool
}

func run(args []string, now time.Time, stdin io.Reader, stdout, stderr io.Writer) int {
	c, err := parseFlags(args, now, stderr)
	if err == flag.ErrHelp {
		return 0
	}
	if err == nil {
		err = c.draw(stdin, stdout)
	}
	if err != nil {
		dump.Complain(stderr, "calendar", err)
		return 2
	}
	return 0
}

func parseFlags(args []string, now time.Time, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("calendar", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.file, "f", "", "`file` with NodePools, YAML or JSON; - reads standard input (default: a sample)")
	flags.StringVar(&c.svg, "svg", "", "draw to this `file` as SVG as well")
	flags.IntVar(&c.size, "nodes", 0, "size of the pool that percentages are taken of (default: from its status, else 10)")
	zone := flags.String("tz", "UTC", "time `zone` to show, as in Europe/Berlin")
	from := flags.String("from", "", "first `day`, as in 2026-08-24 (default: Monday of this week)")
	to := flags.String("to", "", "last `day` (default: six days later)")
	color := flags.String("color", "auto", "color the picture: auto, always or never")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q: files are given with -f", flags.Arg(0))
	}
	if *color != "auto" && *color != "always" && *color != "never" {
		return c, fmt.Errorf("-color %q: want auto, always or never", *color)
	}
	var err error
	if c.zone, err = time.LoadLocation(*zone); err != nil {
		return c, fmt.Errorf("-tz: %w", err)
	}
	c.color = *color == "always" || *color == "auto" && isTerminal()
	return c, c.parseDays(*from, *to, now)
}

// parseDays sets the span: whole days in the zone that is shown.
func (c *config) parseDays(from, to string, now time.Time) error {
	now = now.In(c.zone)
	first := c.startOf(now.AddDate(0, 0, -(int(now.Weekday())+6)%7))
	if from != "" {
		day, err := time.Parse(time.DateOnly, from)
		if err != nil {
			return fmt.Errorf("-from: want a day as in 2026-08-24: %w", err)
		}
		first = c.startOf(day)
	}
	c.from, c.to = first, c.startOf(first.AddDate(0, 0, 7))
	if to != "" {
		day, err := time.Parse(time.DateOnly, to)
		if err != nil {
			return fmt.Errorf("-to: want a day as in 2026-08-30: %w", err)
		}
		c.to = c.startOf(day.AddDate(0, 0, 1))
	}
	if length := c.to.Sub(c.from); length <= 0 || length > 370*24*time.Hour {
		return fmt.Errorf("from %s to %s: want one day to a year", c.from.Format(time.DateOnly), to)
	}
	return nil
}

// startOf is when the date of day begins in the zone that is shown.
func (c *config) startOf(day time.Time) time.Time {
	return hourOf(time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, c.zone), 0)
}

// isTerminal reports whether standard output is a terminal that takes colors.
func isTerminal() bool {
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
}

// draw reads the pools and draws each. Its error may be about single objects only,
// after the pictures of the others.
func (c config) draw(stdin io.Reader, stdout io.Writer) error {
	pools, unreadable := c.read(stdin)
	var pictures []picture
	for i, p := range pools {
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		pic := newPicture(c, p)
		pictures = append(pictures, pic)
		if err := pic.print(stdout, c.color); err != nil {
			return err
		}
	}
	if c.svg == "" || len(pictures) == 0 {
		return unreadable
	}
	var out bytes.Buffer
	writeSVG(&out, pictures)
	if err := os.WriteFile(c.svg, out.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\ndrawn to %s\n", c.svg)
	return unreadable
}

// reasons are drawn in this order.
func reasons() []budget.Reason { return budget.Reasons() }
