package budget

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// LintCode names a kind of finding. Its text is API.
type LintCode string

// The findings, from "stops or never stops anything" to "worth a look".
const (
	// InvalidSchedule: a schedule can't be read, so nothing is ever disrupted.
	InvalidSchedule LintCode = "invalid-cron"
	// InvalidField: another field is not what the API accepts.
	InvalidField LintCode = "invalid-field"
	// NeverFires: a schedule has no hits, which Karpenter takes for always active.
	NeverFires LintCode = "never-fires"
	// AlwaysZero: a reason can never disrupt anything.
	AlwaysZero LintCode = "always-zero"
	// ShadowedBudget: a budget never decides anything.
	ShadowedBudget LintCode = "shadowed-budget"
	// UnlimitedOutsideWindow: outside of its windows a reason has no limit.
	UnlimitedOutsideWindow LintCode = "unlimited-outside-window"
	// ReasonNeverCovered: no budget ever limits a reason.
	ReasonNeverCovered LintCode = "reason-never-covered"
	// ReasonGap: at times there are budgets for other reasons, but none for this.
	ReasonGap LintCode = "reason-gap"
	// WindowsDoNotMeet: two windows miss each other by an hour or less.
	WindowsDoNotMeet LintCode = "windows-do-not-meet"
	// NightNotCovered: a window that closes nights misses the one after a day
	// that another budget closes up to midnight.
	NightNotCovered LintCode = "night-not-covered"
	// ScheduleHasNoEffect: the duration reaches to the next hit: always active.
	ScheduleHasNoEffect LintCode = "schedule-has-no-effect"
	// DateOrWeekday: a schedule by date and by day of the week hits on either.
	DateOrWeekday LintCode = "date-or-weekday"
	// NeverActive: the duration is zero.
	NeverActive LintCode = "never-active"
	// EmptyList: an empty list of budgets, so that nothing is limited.
	EmptyList LintCode = "empty-list"
	// EmptyReasons: an empty list of reasons, so that the budget does nothing.
	EmptyReasons LintCode = "empty-reasons"
	// PoolOfOne: with one node any budget above zero is all of the pool.
	PoolOfOne LintCode = "pool-of-one"
	// PercentRoundsToAll: a percentage below 100 allows the whole pool.
	PercentRoundsToAll LintCode = "percent-rounds-to-all"
	// PercentRoundsUp: a percentage allows at least twice what it says.
	PercentRoundsUp LintCode = "percent-rounds-up"
	// GraceExceedsWindow: drains may go on after the window has closed.
	GraceExceedsWindow LintCode = "grace-exceeds-window"
	// GraceWithinPodGrace: pods are deleted at once, PDBs are never asked.
	GraceWithinPodGrace LintCode = "grace-leq-pod-grace"
	// LooksLikeLocalTime: office hours that are in UTC.
	LooksLikeLocalTime LintCode = "looks-like-local-time"
)

// Severity of a finding. Its text is API.
type Severity string

const (
	// SeverityError: the budgets can't be evaluated, or the API refuses them.
	SeverityError Severity = "error"
	// SeverityWarning: they hardly do what their author meant.
	SeverityWarning Severity = "warning"
	// SeverityInfo: they do what they say, and that may surprise.
	SeverityInfo Severity = "info"
)

// Finding is one thing that is wrong, or likely to be, with a list of budgets.
type Finding struct {
	Code     LintCode `json:"code"`
	Severity Severity `json:"severity"`
	// Budgets are the indexes of those involved; none if it is about the list.
	Budgets []int `json:"budgets,omitempty"`
	// Reasons that the finding is about, in the order of [Reasons]; nil if it has
	// nothing to do with reasons.
	Reasons []Reason `json:"reasons,omitempty"`
	// Message says what happens, for a human.
	Message string `json:"message"`
	// Fix says what to do about it.
	Fix string `json:"fix,omitempty"`
	// Instead is a list of budgets that most likely says what was meant, to take
	// the place of the whole list. It is nil if there's no safe proposal.
	Instead []Budget `json:"instead,omitempty"`
}

// LintOptions is what is known beside the budgets. The zero value knows
// nothing; what can't be judged then is left out.
type LintOptions struct {
	// Nodes is the size of the pool; 0 if unknown.
	Nodes int
	// TimeZone is where the authors live, an IANA name: schedules that look like
	// their office hours are reported.
	TimeZone string
	// TerminationGracePeriod of the pool's nodes; nil if there is none.
	TerminationGracePeriod *time.Duration
	// PodGracePeriod is the longest terminationGracePeriodSeconds of the pods;
	// 0 means Kubernetes' default of 30 seconds.
	PodGracePeriod time.Duration
}

// Lint reports what is wrong with the budgets of a pool, or likely to be not
// what was meant, over the year that begins at from. An empty list is reported,
// a nil one is not: the API fills it in.
//
// Errors come first, then warnings, then remarks; each group by code, budgets
// and text.
func Lint(budgets []Budget, from time.Time, options LintOptions) []Finding {
	l := newLinter(budgets, from, options)
	l.lintFields()
	l.lintList()
	if !l.broken {
		l.lintBudgets()
		l.lintCoverage()
		l.lintShadows()
		l.lintTimeline()
	}
	l.lintGrace()
	findings := joinFindings(l.findings)
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), strings.Compare(string(a.Code), string(b.Code)),
			slices.Compare(a.Budgets, b.Budgets), strings.Compare(a.Message, b.Message))
	})
	return findings
}

// thisReason stands in the texts of findings for the reasons they are about.
const thisReason = "{reason}"

// joinFindings makes one of findings that say the same of several reasons.
func joinFindings(findings []Finding) []Finding {
	var joined []Finding
	for _, f := range findings {
		same := func(g Finding) bool {
			return g.Code == f.Code && g.Message == f.Message && g.Fix == f.Fix && slices.Equal(g.Budgets, f.Budgets)
		}
		if i := slices.IndexFunc(joined, same); i >= 0 {
			joined[i].Reasons = append(joined[i].Reasons, f.Reasons...)
		} else {
			joined = append(joined, f)
		}
	}
	for i := range joined {
		f := &joined[i]
		f.Message = strings.ReplaceAll(f.Message, thisReason, listReasons(f.Reasons))
		f.Fix = strings.ReplaceAll(f.Fix, thisReason, listReasons(f.Reasons))
	}
	return joined
}

// listReasons writes "Drifted, Empty and Underutilized".
func listReasons(reasons []Reason) string {
	text := strings.ReplaceAll(joinReasons(reasons), "+", ", ")
	if i := strings.LastIndex(text, ", "); i >= 0 {
		return text[:i] + " and " + text[i+2:]
	}
	return text
}

func rank(s Severity) int {
	return slices.Index([]Severity{SeverityError, SeverityWarning, SeverityInfo}, s)
}

// linter collects findings about one list of budgets.
type linter struct {
	options  LintOptions
	budgets  []Budget
	set      *Set
	from, to time.Time
	states   []openState // what is open together in that year
	broken   bool        // a budget can't be read: nothing is ever allowed
	findings []Finding
}

// openState is a set of budgets that are active at the same time: how long in
// all, and since when first.
type openState struct {
	open  []bool
	first time.Time
	total time.Duration
}

func newLinter(budgets []Budget, from time.Time, options LintOptions) *linter {
	set, _ := Compile(budgets, nil)
	l := &linter{options: options, budgets: budgets, set: set, from: from, to: from.AddDate(1, 0, 0)}
	for i := range set.budgets {
		l.broken = l.broken || len(set.budgets[i].broken) > 0 || set.budgets[i].badNodes != nil
	}
	if !l.broken {
		l.states = set.openStates(l.from, l.to)
	}
	return l
}

// openStates lists the combinations of active budgets that occur, in order of
// first occurrence. There are few, however long the span, so that whatever is
// asked about all times is asked of them.
func (s *Set) openStates(from, to time.Time) []openState {
	f := s.tracker(from, to)
	var states []openState
	known := map[string]int{}
	key := make([]byte, len(s.budgets))
	for at := from; at.Before(to); {
		for _, t := range f.tracks {
			key[t.binding] = '0'
			if t.open {
				key[t.binding] = '1'
			}
		}
		next := f.advance(to)
		i, ok := known[string(key)]
		if !ok {
			i = len(states)
			known[string(key)] = i
			states = append(states, openState{open: opened(key), first: at})
		}
		states[i].total += next.Sub(at)
		at = next
	}
	return states
}

func opened(key []byte) []bool {
	open := make([]bool, len(key))
	for i, k := range key {
		open[i] = k == '1'
	}
	return open
}

func (l *linter) add(f Finding) { l.findings = append(l.findings, f) }
