package budget

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxBudgets is how many budgets a NodePool may have, and how many reasons a
// budget.
const MaxBudgets = 50

var (
	nodesPattern = regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`)
	macroPattern = regexp.MustCompile(`^@(annually|yearly|monthly|weekly|daily|midnight|hourly)$`)
)

// Validate reports everything that is wrong with the budgets of a pool, by
// field path; a nil path stands for "budgets".
//
// It holds the list to the schema of karpenter.sh/v1 (at most 50 budgets, a
// number or 0% to 100%, the three reasons, a schedule only with a duration and
// the other way round, whole minutes) and beyond that to what is only found out
// when a budget is evaluated: a schedule that the parser refuses, and one that
// never hits, which Karpenter takes for always active.
func Validate(budgets []Budget, path *field.Path) field.ErrorList {
	if path == nil {
		path = field.NewPath("budgets")
	}
	var errs field.ErrorList
	if len(budgets) > MaxBudgets {
		errs = append(errs, field.TooMany(path, len(budgets), MaxBudgets))
	}
	for i, b := range budgets {
		errs = append(errs, b.validate(path.Index(i))...)
	}
	return errs
}

func (b Budget) validate(path *field.Path) field.ErrorList {
	errs := validateReasons(b.Reasons, path.Child("reasons"))
	if !nodesPattern.MatchString(b.Nodes) {
		errs = append(errs, field.Invalid(path.Child("nodes"), b.Nodes, "must be a number, or a percentage from 0% to 100%"))
	} else if _, err := strconv.ParseInt(b.Nodes, 10, 32); err != nil && !strings.HasSuffix(b.Nodes, "%") {
		errs = append(errs, field.Invalid(path.Child("nodes"), b.Nodes, fmt.Sprintf("must be at most %d: Karpenter would count it as %s", math.MaxInt32, counted(b.Nodes))))
	}
	if (b.Schedule == nil) != (b.Duration == nil) {
		missing, given := "schedule", "duration"
		if b.Duration == nil {
			missing, given = given, missing
		}
		errs = append(errs, field.Required(path.Child(missing), "schedule and duration come together, and there is a "+given))
	}
	if b.Schedule != nil {
		errs = append(errs, validateSchedule(b, path)...)
	}
	errs = append(errs, b.validateExtras(path)...)
	if d := b.duration(); d < 0 || d%time.Minute != 0 {
		errs = append(errs, field.Invalid(path.Child("duration"), d.String(), "must be whole minutes, and not negative"))
	}
	return errs
}

// counted is what becomes of a number that has too many digits.
func counted(nodes string) string {
	if a, ok := parseAmount(nodes); ok {
		return strconv.Itoa(a.value)
	}
	return "unreadable"
}

// validateExtras looks at the fields that Karpenter doesn't have.
func (b Budget) validateExtras(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if b.TimeZone != "" && !b.recurs() {
		errs = append(errs, field.Forbidden(path.Child("timeZone"), "means nothing without a schedule"))
	}
	if b.Once != nil && b.recurs() {
		errs = append(errs, field.Forbidden(path.Child("once"), "takes the place of a schedule and can't stand beside it"))
	}
	if b.Once != nil && !b.Once.From.Before(b.Once.To) {
		errs = append(errs, field.Invalid(path.Child("once"), b.Once.String(), "must end after it begins"))
	}
	return errs
}

func validateReasons(reasons []Reason, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(reasons) > MaxBudgets {
		errs = append(errs, field.TooMany(path, len(reasons), MaxBudgets))
	}
	for i, reason := range reasons {
		if !slices.Contains(Reasons(), reason) {
			errs = append(errs, field.NotSupported(path.Index(i), reason, Reasons()))
		}
	}
	return errs
}

func validateSchedule(b Budget, path *field.Path) field.ErrorList {
	text := b.schedule()
	w, errs := parseWindow(text, b.duration(), b.TimeZone, path)
	if w == nil {
		return errs
	}
	invalid := func(why string) {
		errs = append(errs, field.Invalid(path.Child("schedule"), text, why))
	}
	if w.schedule.every > 0 || strings.Contains(text, "@") && !macroPattern.MatchString(text) {
		invalid(fmt.Sprintf("the API accepts five fields, or one of %v", macros))
	}
	if w.schedule.never {
		invalid("schedule never fires, and Karpenter takes such a budget for always active")
	}
	return errs
}

var macros = []string{"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
