package scheduling

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Operators that Karpenter has beside those of Kubernetes: integer bounds that
// include their value. [corev1.NodeSelectorOpGt] and Lt exclude it.
const (
	OpGte corev1.NodeSelectorOperator = "Gte"
	OpLte corev1.NodeSelectorOperator = "Lte"
)

// RequirementSpec is a requirement as a node pool, a node claim or a catalog
// writes it, with the field names of karpenter.sh/v1. [NewRequirement] makes a
// [Requirement] of it.
type RequirementSpec struct {
	Key string `json:"key"`
	// Operator is In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte.
	Operator corev1.NodeSelectorOperator `json:"operator"`
	Values   []string                    `json:"values,omitempty"`
	// MinValues is how many values of the key the instance types of a new node
	// must offer between them; nil means no such demand.
	MinValues *int `json:"minValues,omitempty"`
}

// Validate reports what is wrong with the spec, by path: an empty key, an
// unknown operator, In without values, Exists or DoesNotExist with some, a bound
// that is not exactly one integer, a minValues below 1. A spec with such faults
// can still be made a [Requirement], as Karpenter would.
func (s RequirementSpec) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), "a requirement names a label"))
	}
	if s.MinValues != nil && *s.MinValues < 1 {
		errs = append(errs, field.Invalid(path.Child("minValues"), *s.MinValues, "must be at least 1"))
	}
	return append(errs, s.validateValues(path)...)
}

func (s RequirementSpec) validateValues(path *field.Path) field.ErrorList {
	values := path.Child("values")
	switch s.Operator {
	case corev1.NodeSelectorOpIn:
		if len(s.Values) == 0 {
			return field.ErrorList{field.Required(values, "In needs at least one value")}
		}
	case corev1.NodeSelectorOpNotIn:
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(s.Values) > 0 {
			return field.ErrorList{field.Forbidden(values, string(s.Operator)+" takes no values")}
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, OpGte, OpLte:
		return s.validateBound(values)
	default:
		return field.ErrorList{field.NotSupported(path.Child("operator"), s.Operator, sets.List(operators()))}
	}
	return nil
}

func (s RequirementSpec) validateBound(path *field.Path) field.ErrorList {
	if len(s.Values) != 1 {
		return field.ErrorList{field.Invalid(path, s.Values, string(s.Operator)+" needs exactly one value")}
	}
	if _, err := strconv.ParseInt(s.Values[0], 10, 64); err != nil {
		return field.ErrorList{field.Invalid(path.Index(0), s.Values[0], string(s.Operator)+" needs an integer")}
	}
	return nil
}

func operators() sets.Set[corev1.NodeSelectorOperator] {
	return sets.New(corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
		corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, OpGte, OpLte)
}
