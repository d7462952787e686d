package repair

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate reports what is wrong with the options, by path; nil stands for the
// root. [Propose] answers whatever they are, and what it can't read it takes for
// a no.
func (o *Options) Validate(path *field.Path) field.ErrorList {
	errs := o.Settings.validate(path)
	for _, name := range slices.Sorted(maps.Keys(o.Pools)) {
		s := o.Pools[name]
		errs = append(errs, s.validate(child(path, "pools").Key(name))...)
	}
	errs = append(errs, notNegative(child(path, "maxInFlightTotal"), int64(o.MaxInFlightTotal))...)
	if clear := o.Storm.Clear; clear != "" {
		errs = append(errs, Breaker{MaxUnhealthy: clear}.validate(child(path, "storm", "clear"))...)
	}
	return append(errs, notNegative(child(path, "storm", "cooldown"), int64(o.Storm.Cooldown))...)
}

func child(path *field.Path, name string, more ...string) *field.Path {
	if path == nil {
		return field.NewPath(name, more...)
	}
	return path.Child(name, more...)
}

func (s *Settings) validate(path *field.Path) (errs field.ErrorList) {
	for i := range s.Policies {
		errs = append(errs, s.Policies[i].validate(child(path, "policies").Index(i))...)
	}
	breaker := child(path, "breaker")
	errs = append(errs, s.Breaker.validate(breaker.Child("maxUnhealthy"))...)
	errs = append(errs, notNegative(breaker.Child("atLeast"), int64(s.Breaker.AtLeast))...)
	return append(errs, notNegative(child(path, "maxInFlight"), int64(s.MaxInFlight))...)
}

func (b Breaker) validate(path *field.Path) field.ErrorList {
	if _, _, err := b.bounds(1); err != nil {
		return field.ErrorList{field.Invalid(path, b.MaxUnhealthy, err.Error())}
	}
	return nil
}

func (p *Policy) validate(path *field.Path) (errs field.ErrorList) {
	if p.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "the condition that is a sickness"))
	}
	statuses := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
	if !slices.Contains(statuses, p.Status) {
		errs = append(errs, field.NotSupported(path.Child("status"), p.Status, statuses))
	}
	errs = append(errs, notNegative(path.Child("toleration"), int64(p.Toleration))...)
	if p.Priority < 0 || p.Priority > 100 {
		errs = append(errs, field.Invalid(path.Child("priority"), p.Priority, "must be between 0 and 100"))
	}
	endings := []Ending{Forceful, Graceful, Within}
	if !slices.Contains(endings, p.Ending) {
		errs = append(errs, field.NotSupported(path.Child("ending"), p.Ending, endings))
	}
	errs = append(errs, notNegative(path.Child("gracePeriod"), int64(p.GracePeriod))...)
	for i := range p.Ladder {
		errs = append(errs, p.Ladder[i].validate(path.Child("ladder").Index(i))...)
	}
	return errs
}

func (s *Step) validate(path *field.Path) (errs field.ErrorList) {
	remedies := []Remedy{Replace, Reboot, External}
	if !slices.Contains(remedies, s.Remedy) {
		errs = append(errs, field.NotSupported(path.Child("remedy"), s.Remedy, remedies))
	}
	errs = append(errs, notNegative(path.Child("timeout"), int64(s.Timeout))...)
	errs = append(errs, notNegative(path.Child("limit"), int64(s.Limit))...)
	return append(errs, notNegative(path.Child("per"), int64(s.Per))...)
}

func notNegative(path *field.Path, n int64) field.ErrorList {
	if n < 0 {
		return field.ErrorList{field.Invalid(path, n, "must not be negative")}
	}
	return nil
}
