package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Parse reads options from JSON, as a user would configure them, and validates
// them. The keys are the names of the fields in lower camel case, durations are
// strings such as "30m", and unknown keys are errors:
//
//	{
//	  "policies": [{"type": "Ready", "status": "False", "toleration": "30m",
//	    "ladder": [{"remedy": "Reboot", "timeout": "20m", "limit": 2, "per": "24h"}, {}]}],
//	  "breaker": {"maxUnhealthy": "40%", "roundDown": true},
//	  "maxInFlight": 1,
//	  "pools": {"gpu": {"policies": [], "paused": true}},
//	  "storm": {"clear": "1", "cooldown": "10m"}
//	}
//
// Hold and Since are code, and stay nil. With errors the options are nil.
func Parse(data []byte) (*Options, field.ErrorList) {
	var c optionsJSON
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&c)
	if err == nil && !errors.Is(decoder.Decode(&struct{}{}), io.EOF) {
		err = errors.New("more than one JSON value")
	}
	if err != nil {
		return nil, field.ErrorList{jsonError(err)}
	}
	o := c.options()
	if errs := o.Validate(nil); len(errs) > 0 {
		return nil, errs
	}
	return o, nil
}

// jsonError names the field, if the error does.
func jsonError(err error) *field.Error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return field.TypeInvalid(field.NewPath(mismatch.Field), mismatch.Value, "must be a "+mismatch.Type.String())
	}
	return field.Invalid(nil, field.OmitValueType{}, err.Error())
}

type optionsJSON struct {
	settingsJSON
	Pools            map[string]settingsJSON `json:"pools"`
	Strict           bool                    `json:"strict"`
	MaxInFlightTotal int                     `json:"maxInFlightTotal"`
	Storm            struct {
		Clear    string          `json:"clear"`
		Cooldown metav1.Duration `json:"cooldown"`
	} `json:"storm"`
	HealthyDelay   metav1.Duration `json:"healthyDelay"`
	FailureDomain  string          `json:"failureDomain"`
	VetoAnnotation string          `json:"vetoAnnotation"`
}

type settingsJSON struct {
	Policies []policyJSON `json:"policies"`
	Breaker  struct {
		MaxUnhealthy string `json:"maxUnhealthy"`
		RoundDown    bool   `json:"roundDown"`
		AtLeast      int    `json:"atLeast"`
	} `json:"breaker"`
	MaxInFlight int  `json:"maxInFlight"`
	Paused      bool `json:"paused"`
}

type policyJSON struct {
	Type        corev1.NodeConditionType `json:"type"`
	Status      corev1.ConditionStatus   `json:"status"`
	Toleration  metav1.Duration          `json:"toleration"`
	Reason      *regexp.Regexp           `json:"reason"`
	Priority    int                      `json:"priority"`
	Ending      Ending                   `json:"ending"`
	GracePeriod metav1.Duration          `json:"gracePeriod"`
	Ladder      []stepJSON               `json:"ladder"`
}

type stepJSON struct {
	Remedy  Remedy          `json:"remedy,omitempty"`
	Name    string          `json:"name,omitempty"`
	Timeout metav1.Duration `json:"timeout,omitzero"`
	Limit   int             `json:"limit,omitempty"`
	Per     metav1.Duration `json:"per,omitzero"`
}

// MarshalJSON writes the step as [Parse] reads it.
func (s Step) MarshalJSON() ([]byte, error) {
	return json.Marshal(stepJSON{s.Remedy, s.Name, metav1.Duration{Duration: s.Timeout}, s.Limit, metav1.Duration{Duration: s.Per}})
}

// MarshalJSON writes the error as its text.
func (c Count) MarshalJSON() ([]byte, error) {
	type plain Count
	var text string
	if c.Err != nil {
		text = c.Err.Error()
	}
	return json.Marshal(struct {
		plain
		Error string `json:"error,omitempty"`
	}{plain(c), text})
}

func (c *optionsJSON) options() *Options {
	o := &Options{
		Settings:         c.settings(),
		Strict:           c.Strict,
		MaxInFlightTotal: c.MaxInFlightTotal,
		Storm:            Storm{Clear: c.Storm.Clear, Cooldown: c.Storm.Cooldown.Duration},
		HealthyDelay:     c.HealthyDelay.Duration,
		FailureDomain:    c.FailureDomain,
		VetoAnnotation:   c.VetoAnnotation,
	}
	for name, s := range c.Pools {
		if o.Pools == nil {
			o.Pools = map[string]Settings{}
		}
		o.Pools[name] = s.settings()
	}
	return o
}

func (s *settingsJSON) settings() Settings {
	out := Settings{Breaker: Breaker(s.Breaker), MaxInFlight: s.MaxInFlight, Paused: s.Paused}
	for i := range s.Policies {
		out.Policies = append(out.Policies, s.Policies[i].policy())
	}
	return out
}

func (p *policyJSON) policy() Policy {
	out := Policy{
		Type: p.Type, Status: p.Status, Toleration: p.Toleration.Duration,
		Reason: p.Reason, Priority: p.Priority,
		Ending: p.Ending, GracePeriod: p.GracePeriod.Duration,
	}
	for _, s := range p.Ladder {
		out.Ladder = append(out.Ladder, Step{
			Remedy: s.Remedy, Name: s.Name, Timeout: s.Timeout.Duration, Limit: s.Limit, Per: s.Per.Duration,
		})
	}
	return out
}
