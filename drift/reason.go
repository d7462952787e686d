package drift

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
	"github.com/node-disruption/disruption/scheduling"
)

// Reason is why a node drifted: one of the codes below or a cloud's own.
type Reason string

// The reasons that are common to all clouds, in the order in which they are
// decided. They are what the Drifted condition of a claim says.
const (
	// NodePoolDrifted: the pool's template changed, so its hash did.
	NodePoolDrifted Reason = "NodePoolDrifted"
	// RequirementsDrifted: the claim's labels don't meet the pool's requirements.
	RequirementsDrifted Reason = "RequirementsDrifted"
	// InstanceTypeNotFound: the pool has no such instance type any more, or has
	// none of its offerings in this zone and of this capacity type.
	InstanceTypeNotFound Reason = "InstanceTypeNotFound"
)

// InstanceTypeMemory is how long Karpenter v1.14 remembers that it found a
// claim's instance type. What it did not find it looks for again.
const InstanceTypeMemory = 30 * time.Minute

// Options of [Compile]. The zero value is Karpenter v1.14.
type Options struct {
	// Domain of the labels and annotations; "" is karpenter.sh.
	Domain string
	// WellKnownLabels are a provider's own, that an offering may have though the
	// claim's labels lack them.
	WellKnownLabels []string
	// ReservationLabel is the provider's label for the id of a capacity
	// reservation, "" if it has none.
	ReservationLabel string
	// MinAge is how old a claim must be before its instance type is looked up,
	// strictly; nil means an hour.
	MinAge *time.Duration
	// Cloud is asked last, about a claim that nothing else says has drifted.
	Cloud Cloud
	// ConfirmLive asks for a second look, at live facts, before a node counts as
	// drifted by what the caller may have cached: its instance type, and the
	// cloud's answer. See [Confirm].
	ConfirmLive bool
}

// Cloud gives a cloud's own answer about one claim at an instant. An error says
// that it doesn't know; the claim's condition is then left alone.
type Cloud interface {
	Drifted(claim *Claim, now time.Time) (Difference, error)
}

// Pool is what drift needs to know of a node pool.
type Pool struct {
	Name string
	// Annotations of the pool hold the hash of its template and its version.
	Annotations  map[string]string
	Requirements []scheduling.RequirementSpec
	// InstanceTypes of the pool, whether available or not. Nil leaves them out of
	// the question.
	InstanceTypes []*scheduling.InstanceType
}

// Claim is what drift needs to know of a node claim.
type Claim struct {
	Name                string
	Labels, Annotations map[string]string
	Created             time.Time
	// Launched is the claim's condition of that name. Before it is true, nothing
	// is judged.
	Launched bool
	// Drifted is the claim's condition of that name, nil if it has none.
	Drifted *metav1.Condition
	// TypeFound leaves the instance type out: it was found a short while ago, see
	// [InstanceTypeMemory].
	TypeFound bool
	// Live says that the facts were just read from the cloud, not from a cache.
	Live bool
}

// Outcome says what to make of a verdict.
type Outcome string

// The outcomes.
const (
	// Matches: the node is what its pool asks for.
	Matches Outcome = ""
	// Replace: it isn't, and must be replaced.
	Replace Outcome = "Replace"
	// InPlace: it isn't, and the cloud can put it right as it runs.
	InPlace Outcome = "InPlace"
	// Confirm: it seems that it isn't. Read the facts live and ask again, with
	// Claim.Live set. Until then the condition stays as it is.
	Confirm Outcome = "ConfirmLive"
	// Unlaunched: there is nothing to judge yet.
	Unlaunched Outcome = "Unlaunched"
)

// Verdict is the answer about one claim.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	// Reason is empty unless the node differs.
	Reason Reason `json:"reason,omitempty"`
	// Detail says what differs, for a human.
	Detail string `json:"detail,omitempty"`
	// Mismatch is the requirement that the labels don't meet, for
	// RequirementsDrifted.
	Mismatch *scheduling.Mismatch `json:"mismatch,omitempty"`
	// TypeFound: the instance type was looked up and found, which the caller may
	// remember.
	TypeFound bool `json:"typeFound,omitempty"`
}

// String is a sentence for a human: "AMIDrift, ami-1 is not one of ami-2".
func (v Verdict) String() string {
	switch v.Outcome {
	case Matches:
		return "matches"
	case Unlaunched:
		return "not launched yet"
	case InPlace:
		return fmt.Sprintf("%s, %s; it can be put right in place", v.Reason, v.Detail)
	case Confirm:
		return fmt.Sprintf("%s, %s; to be confirmed by a live look", v.Reason, v.Detail)
	}
	return fmt.Sprintf("%s, %s", v.Reason, v.Detail)
}

// Checker is a pool against which claims are judged. It is immutable, and keeps
// no reference to what it was made from but the instance types.
type Checker struct {
	keys         annotations.Keys
	pool         string
	hash         stamp
	requirements scheduling.Requirements
	types        map[string]*scheduling.InstanceType
	demand       scheduling.Demand
	options      Options
	minAge       time.Duration
}

// Compile prepares a pool, for [Checker.Evaluate].
func Compile(pool *Pool, o Options) *Checker {
	keys := annotations.For(o.Domain)
	c := &Checker{
		keys:         keys,
		pool:         pool.Name,
		hash:         stampOf(pool.Annotations, keys.NodePoolHash, keys.NodePoolHashVersion),
		requirements: scheduling.NewRequirements(pool.Requirements...),
		demand: scheduling.Options{Domain: o.Domain, WellKnownLabels: o.WellKnownLabels}.
			Demand(scheduling.Requirements{}),
		options: o,
		minAge:  time.Hour,
	}
	if o.MinAge != nil {
		c.minAge = *o.MinAge
	}
	if pool.InstanceTypes != nil {
		c.types = make(map[string]*scheduling.InstanceType, len(pool.InstanceTypes))
	}
	for _, t := range pool.InstanceTypes {
		if c.types[t.Name] == nil { // the first of a name counts
			c.types[t.Name] = t
		}
	}
	return c
}

// Evaluate reports whether a claim still is what its pool asks for. The checks
// run in the order of the reasons, and the first that fails decides:
//
//  1. The template's hash: pool and claim both bear a hash and a version, the
//     versions are equal, and the hashes differ. Whatever is missing, or of
//     different versions, is no drift.
//  2. The requirements: see [Checker.Requirements].
//  3. The instance type, of claims older than an hour: see [Checker.InstanceType].
//  4. The cloud's own answer.
//
// The error is the cloud's. The claim's condition is then to be left alone, and
// so it is by [Verdict.Condition] of the verdict that comes with it.
func (c *Checker) Evaluate(claim *Claim, now time.Time) (Verdict, error) {
	if !claim.Launched {
		return Verdict{Outcome: Unlaunched}, nil
	}
	if c.Static(claim) {
		return Verdict{Outcome: Replace, Reason: NodePoolDrifted, Detail: "the template of pool " + c.pool + " changed"}, nil
	}
	labels := scheduling.LabelRequirements(claim.Labels)
	if m := labels.Compatible(c.requirements, nil); m != nil {
		return Verdict{Outcome: Replace, Reason: RequirementsDrifted, Detail: m.String(), Mismatch: m}, nil
	}
	return c.evaluateCloud(claim, labels, now)
}

// evaluateCloud asks what the cloud has to say, which may be cached.
func (c *Checker) evaluateCloud(claim *Claim, labels scheduling.Requirements, now time.Time) (v Verdict, err error) {
	if c.types != nil && !claim.TypeFound && now.Sub(claim.Created) > c.minAge {
		if detail := c.instanceType(claim, labels); detail != "" {
			return c.unconfirmed(claim, Verdict{Outcome: Replace, Reason: InstanceTypeNotFound, Detail: detail}), nil
		}
		v.TypeFound = true
	}
	if c.options.Cloud == nil {
		return v, nil
	}
	d, err := c.options.Cloud.Drifted(claim, now)
	if err != nil {
		v.Outcome = Confirm
		return v, fmt.Errorf("claim %s: %w", claim.Name, err)
	}
	if d.Reason == "" {
		return v, nil
	}
	v.Outcome, v.Reason, v.Detail = Replace, d.Reason, d.Detail
	if d.InPlace {
		v.Outcome = InPlace
		return v, nil
	}
	return c.unconfirmed(claim, v), nil
}

// unconfirmed asks for a live look, if the options do and there was none.
func (c *Checker) unconfirmed(claim *Claim, v Verdict) Verdict {
	if c.options.ConfirmLive && !claim.Live {
		v.Outcome = Confirm
	}
	return v
}

// Static reports whether the hash of the pool's template differs from the
// claim's, where both are known and of one version.
func (c *Checker) Static(claim *Claim) bool {
	return c.hash.differs(stampOf(claim.Annotations, c.keys.NodePoolHash, c.keys.NodePoolHashVersion))
}

// Requirements returns the requirement of the pool that the claim's labels don't
// meet, or nil. A label that is required and missing is not met, well-known or
// not, unless by NotIn or DoesNotExist. Of a requirement that was widened, the
// label still is a member, so it is met.
func (c *Checker) Requirements(claim *Claim) *scheduling.Mismatch {
	return scheduling.LabelRequirements(claim.Labels).Compatible(c.requirements, nil)
}

// InstanceType says why the pool could not launch the claim's instance type
// again, or returns "". The type, by the claim's label, must be one of the pool's,
// and one of its offerings, sold out or not, must be compatible with the labels.
// For a claim of reserved capacity an on-demand offering will do as well, and
// reservation ids are ignored.
func (c *Checker) InstanceType(claim *Claim) string {
	return c.instanceType(claim, scheduling.LabelRequirements(claim.Labels))
}

func (c *Checker) instanceType(claim *Claim, labels scheduling.Requirements) string {
	name := claim.Labels[corev1.LabelInstanceTypeStable]
	t := c.types[name]
	if t == nil {
		return fmt.Sprintf("pool %s has no instance type %q", c.pool, name)
	}
	if claim.Labels[c.keys.CapacityType] == annotations.CapacityTypeReserved {
		labels = labels.Without(c.keys.CapacityType, c.options.ReservationLabel).Add(
			scheduling.In(c.keys.CapacityType, annotations.CapacityTypeReserved, annotations.CapacityTypeOnDemand))
	}
	demand := c.demand.With(labels)
	for i := range t.Offerings {
		if demand.Accepts(&t.Offerings[i]) {
			return ""
		}
	}
	return fmt.Sprintf("instance type %s is not offered with the labels of this claim", name)
}

// stamp is a hash and its version as annotations hold them.
type stamp struct {
	hash, version string
	complete      bool
}

func stampOf(from map[string]string, hashKey, versionKey string) stamp {
	hash, ok := from[hashKey]
	version, versioned := from[versionKey]
	return stamp{hash, version, ok && versioned}
}

func (s stamp) differs(o stamp) bool {
	return s.complete && o.complete && s.version == o.version && s.hash != o.hash
}
