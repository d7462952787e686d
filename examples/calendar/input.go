package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/node-disruption/disruption/budget"
)

// pool is a NodePool as far as its budgets go.
type pool struct {
	name      string
	nodes     int
	sizedBy   string // where the number of nodes comes from
	budgets   []budget.Budget
	byDefault bool // the budgets are the API's default
	grace     *time.Duration
}

// object is what we read of any Kubernetes object.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
	Spec  struct {
		Disruption struct {
			Budgets []json.RawMessage `json:"budgets"`
		} `json:"disruption"`
		Template struct {
			Spec struct {
				TerminationGracePeriod string `json:"terminationGracePeriod"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Resources map[string]any `json:"resources"`
	} `json:"status"`
}

// decode reads all NodePools from documents in YAML or JSON, lists included,
// and skips everything else. Nodes, if above 0, is the size of each.
func decode(name string, r io.Reader, nodes int) ([]pool, error) {
	var pools []pool
	decoder := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found, err := decodeObject(raw, nodes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pools = append(pools, found...)
	}
	if len(pools) == 0 {
		return nil, fmt.Errorf("%s: holds no NodePool", name)
	}
	return pools, nil
}

func decodeObject(raw json.RawMessage, nodes int) ([]pool, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil // an empty document
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	if o.Kind == "NodePool" {
		p, err := o.pool(nodes)
		return []pool{p}, err
	}
	var pools []pool
	for _, item := range o.Items {
		found, err := decodeObject(item, nodes)
		if err != nil {
			return nil, err
		}
		pools = append(pools, found...)
	}
	return pools, nil
}

func (o object) pool(nodes int) (pool, error) {
	p := pool{name: o.Metadata.Name, nodes: nodes, sizedBy: "as told"}
	if nodes <= 0 {
		p.nodes, p.sizedBy = 10, "assumed"
		if n, err := strconv.Atoi(fmt.Sprint(o.Status.Resources["nodes"])); err == nil && n > 0 {
			p.nodes, p.sizedBy = n, "by its status"
		}
	}
	if o.Spec.Disruption.Budgets == nil {
		p.budgets, p.byDefault = []budget.Budget{{Nodes: "10%"}}, true
	} else {
		p.budgets = []budget.Budget{}
	}
	for i, raw := range o.Spec.Disruption.Budgets {
		var b budget.Budget
		if err := json.Unmarshal(raw, &b); err != nil {
			return p, fmt.Errorf("NodePool %s: spec.disruption.budgets[%d]: %w", p.name, i, err)
		}
		p.budgets = append(p.budgets, b)
	}
	if text := o.Spec.Template.Spec.TerminationGracePeriod; text != "" {
		grace, err := time.ParseDuration(text)
		if err != nil {
			return p, fmt.Errorf("NodePool %s: spec.template.spec.terminationGracePeriod: %w", p.name, err)
		}
		p.grace = &grace
	}
	return p, nil
}
