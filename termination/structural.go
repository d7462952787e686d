package termination

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Codes of what blocks an eviction for ever, beside MultiplePDBs.
const (
	// MaxUnavailableZero: maxUnavailable is 0 or 0%, however written.
	MaxUnavailableZero Code = "MaxUnavailableZero"
	// MinAvailableAll: minAvailable is 100% or more.
	MinAvailableAll Code = "MinAvailableAll"
	// MinAvailableTooHigh: minAvailable is a number not below that of the pods.
	MinAvailableTooHigh Code = "MinAvailableTooHigh"
	// PercentLeavesNone: a percentage below 100 that rounds up to all pods.
	PercentLeavesNone Code = "PercentLeavesNone"
	// PDBSyncFailed: the PDB controller can't compute what the PDB allows.
	PDBSyncFailed Code = "PDBSyncFailed"
)

// Structural is an obstacle that no waiting removes: even with every pod healthy
// the PDBs would let none go. Somebody has to change something.
type Structural struct {
	Code Code `json:"code"`
	// PDBs that are at fault, sorted. The slice is the caller's.
	PDBs []types.NamespacedName `json:"-"`
	// Health is the arithmetic of the one PDB; zero with MultiplePDBs.
	Health Health `json:"health,omitzero"`
	// Message says what is wrong, and Fix what would free the pods.
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// Structural reports whether the PDBs would never let the pod go, and why, with
// what would help. A pod that needs no permission at all is never blocked, nor
// is an unhealthy one that goes free.
//
// It sees more than [Limits.IsFullyBlocked], which reads the spec by its letters:
// minAvailable that the number of replicas doesn't exceed, percentages that
// round up to all, a PDB that the controller can't compute.
func (l *Ledger) Structural(pod *corev1.Pod) (Structural, bool) {
	if needsNoPermission(pod) {
		return Structural{}, false
	}
	one, n := l.index.match(pod)
	switch {
	case n == 0:
		return Structural{}, false
	case n > 1:
		return multiple(l.index.names(pod)), true
	case l.accounts[one.value].excuses(pod):
		return Structural{}, false
	}
	return l.accounts[one.value].structural()
}

func multiple(names []types.NamespacedName) Structural {
	return Structural{
		Code: MultiplePDBs, PDBs: names,
		Message: fmt.Sprintf("%d PDBs select the pod, and the eviction API refuses such pods whatever the PDBs allow", len(names)),
		Fix:     "delete all but one of " + joinNames(names) + ", or narrow their selectors",
	}
}

// StructuralPDBs reports every PDB that would never let any healthy pod go, in
// the order of their names, whether or not a pod is asked for. PDBs that select
// no pod are left out, and so are overlaps, which only a pod shows.
func (l *Ledger) StructuralPDBs() []Structural {
	byName := map[types.NamespacedName]Structural{}
	var names []types.NamespacedName
	for _, a := range l.accounts {
		if s, blocked := a.structural(); blocked && (a.health.Expected > 0 || a.syncError != "") {
			byName[a.name] = s
			names = append(names, a.name)
		}
	}
	var all []Structural
	for _, name := range sortNames(names) {
		all = append(all, byName[name])
	}
	return all
}

// structural reports whether the PDB allows nothing even at its best.
func (a *account) structural() (Structural, bool) {
	s := Structural{PDBs: []types.NamespacedName{a.name}, Health: a.health}
	if a.syncError != "" {
		s.Code = PDBSyncFailed
		s.Message = fmt.Sprintf("%s can't be computed: %s", a.name, a.syncError)
		s.Fix = "use an integer minAvailable, or select pods of a controller with a scale"
		return s, true
	}
	switch {
	case a.spec.MaxUnavailable != nil:
		return a.maxUnavailable(s)
	case a.spec.MinAvailable != nil:
		return a.minAvailable(s)
	}
	return s, false
}

func (a *account) maxUnavailable(s Structural) (Structural, bool) {
	if n, err := intstr.GetScaledValueFromIntOrPercent(a.spec.MaxUnavailable, 100, true); err != nil || n > 0 {
		return s, false
	}
	s.Code = MaxUnavailableZero
	s.Message = fmt.Sprintf("%s has maxUnavailable %s, which lets no pod go at any number of replicas", a.name, a.spec.MaxUnavailable)
	s.Fix = "set maxUnavailable of " + a.name.String() + " to 1"
	return s, true
}

func (a *account) minAvailable(s Structural) (Structural, bool) {
	m := a.spec.MinAvailable
	expected := a.health.Expected
	percent := m.Type == intstr.String
	all := percent && percentOf(m) >= 100
	if !all && (expected <= 0 || a.health.Desired < expected) {
		return s, false
	}
	switch {
	case all:
		s.Code = MinAvailableAll
		s.Fix = "set maxUnavailable of " + a.name.String() + " to 1 in its place"
	case percent:
		s.Code = PercentLeavesNone
		s.Fix = a.fixPercent(percentOf(m))
	default:
		s.Code = MinAvailableTooHigh
		s.Fix = fmt.Sprintf("scale the workload to %d, or lower minAvailable of %s to %d", a.health.Desired+1, a.name, expected-1)
	}
	s.Message = fmt.Sprintf("%s wants %d of %d pods healthy (minAvailable %s), which leaves none to go", a.name, a.health.Desired, expected, m)
	if all {
		s.Message = fmt.Sprintf("%s has minAvailable %s, which lets no pod go at any number of replicas", a.name, m)
	}
	return s, true
}

// percentOf is the number before the percent sign, 0 if there is none.
func percentOf(m *intstr.IntOrString) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(m, 100, true)
	if err != nil || !strings.HasSuffix(m.StrVal, "%") {
		return 0
	}
	return n
}

// fixPercent is the least scale at which percent lets one go, and the highest
// percentage that lets one go at this scale.
func (a *account) fixPercent(percent int) string {
	expected := int(a.health.Expected)
	scale := expected + 1
	for ; (percent*scale+99)/100 >= scale; scale++ {
	}
	fix := fmt.Sprintf("scale the workload to %d", scale)
	if lower := (expected - 1) * 100 / expected; lower > 0 {
		fix += fmt.Sprintf(", or lower minAvailable of %s to %d%%", a.name, lower)
	}
	return fix
}
