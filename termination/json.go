package termination

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// In JSON a pod or a PDB is its namespace/name, a duration the text that
// time.ParseDuration reads, and an error its text. What is state, [Progress], can
// be read back.

// podText names a pod, "" for none.
func podText(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	return pod.Namespace + "/" + pod.Name
}

func podTexts(pods []*corev1.Pod) []string {
	var texts []string
	for _, pod := range pods {
		texts = append(texts, podText(pod))
	}
	return texts
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// MarshalJSON names the pods.
func (p DrainPlan) MarshalJSON() ([]byte, error) {
	type plain DrainPlan
	return json.Marshal(struct {
		plain
		Done  bool     `json:"done"`
		Evict []string `json:"evict,omitempty"`
	}{plain(p), p.Done(), podTexts(p.Evict)})
}

// MarshalJSON names the pod and the PDBs.
func (f ForcedDeletion) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Pod    string          `json:"pod"`
		Grace  metav1.Duration `json:"grace"`
		Breaks []string        `json:"breaks,omitempty"`
	}{podText(f.Pod), metav1.Duration{Duration: f.Grace}, nameTexts(f.Breaks)})
}

// MarshalJSON names the pod and the PDBs, with what would end the wait.
func (w Wait) MarshalJSON() ([]byte, error) {
	type plain Wait
	return json.Marshal(struct {
		Pod string `json:"pod"`
		plain
		Blocking []string `json:"blocking,omitempty"`
		Lift     string   `json:"lift,omitempty"`
	}{podText(w.Pod), plain(w), nameTexts(w.Blocking), w.Lift()})
}

// MarshalJSON names the pod and the PDBs.
func (p Permission) MarshalJSON() ([]byte, error) {
	type plain Permission
	return json.Marshal(struct {
		plain
		Pod      string   `json:"pod,omitempty"`
		Blocking []string `json:"blocking,omitempty"`
	}{plain(p), podText(p.Pod), nameTexts(p.Blocking)})
}

// MarshalJSON names the pod and the PDBs.
func (a Answer) MarshalJSON() ([]byte, error) {
	type plain Answer
	return json.Marshal(struct {
		plain
		RetryAfter metav1.Duration `json:"retryAfter,omitzero"`
		Pod        string          `json:"pod,omitempty"`
		PDBs       []string        `json:"pdbs,omitempty"`
	}{plain(a), metav1.Duration{Duration: a.RetryAfter}, podText(a.Pod), nameTexts(a.PDBs())})
}

// MarshalJSON names the PDBs.
func (s Structural) MarshalJSON() ([]byte, error) {
	type plain Structural
	return json.Marshal(struct {
		plain
		PDBs []string `json:"pdbs,omitempty"`
	}{plain(s), nameTexts(s.PDBs)})
}

// MarshalJSON names the pods.
func (s Schedule) MarshalJSON() ([]byte, error) {
	type plain Schedule
	return json.Marshal(struct {
		plain
		Unbounded []string `json:"unbounded,omitempty"`
	}{plain(s), podTexts(s.Unbounded)})
}

// MarshalJSON names the pod.
func (d ScheduledDeletion) MarshalJSON() ([]byte, error) {
	type plain ScheduledDeletion
	return json.Marshal(struct {
		Pod string `json:"pod"`
		plain
		Grace metav1.Duration `json:"grace"`
		Lost  metav1.Duration `json:"lost,omitzero"`
	}{podText(d.Pod), plain(d), metav1.Duration{Duration: d.Grace}, metav1.Duration{Duration: d.Lost}})
}

// MarshalJSON names the pod.
func (p PodForecast) MarshalJSON() ([]byte, error) {
	type plain PodForecast
	return json.Marshal(struct {
		Pod string `json:"pod"`
		plain
	}{podText(p.Pod), plain(p)})
}

// MarshalJSON leaves out what didn't hold the pod.
func (d Departure) MarshalJSON() ([]byte, error) {
	type plain Departure
	var held *Wait
	if d.Held.Code != "" {
		held = &d.Held
	}
	return json.Marshal(struct {
		plain
		Grace metav1.Duration `json:"grace,omitzero"`
		Lost  metav1.Duration `json:"lost,omitzero"`
		Held  *Wait           `json:"held,omitempty"`
	}{plain(d), metav1.Duration{Duration: d.Grace}, metav1.Duration{Duration: d.Lost}, held})
}

// MarshalJSON names the PDB.
func (w Waves) MarshalJSON() ([]byte, error) {
	type plain Waves
	var binding string
	if w.Refills > 0 {
		binding = w.Binding.String()
	}
	return json.Marshal(struct {
		plain
		Binding    string          `json:"binding,omitempty"`
		LowerBound metav1.Duration `json:"lowerBound"`
	}{plain(w), binding, metav1.Duration{Duration: w.LowerBound}})
}

// MarshalJSON names the pod.
func (s Stuck) MarshalJSON() ([]byte, error) {
	type plain Stuck
	return json.Marshal(struct {
		plain
		Pod string `json:"pod"`
	}{plain(s), podText(s.Pod)})
}

// MarshalJSON names the pod and the PDBs.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	return json.Marshal(struct {
		plain
		Pod  string   `json:"pod,omitempty"`
		PDBs []string `json:"pdbs,omitempty"`
	}{plain(f), podText(f.Pod), nameTexts(f.PDBs)})
}

// MarshalJSON names the claim.
func (e Expiration) MarshalJSON() ([]byte, error) {
	type plain Expiration
	return json.Marshal(struct {
		Claim string `json:"claim"`
		plain
	}{e.Claim.Name, plain(e)})
}

// MarshalJSON names the pod, and writes the error as its text.
func (a Attempt) MarshalJSON() ([]byte, error) {
	type plain Attempt
	return json.Marshal(struct {
		Pod string `json:"pod"`
		plain
		RetryAfter metav1.Duration `json:"retryAfter,omitzero"`
		Error      string          `json:"error,omitempty"`
	}{podText(a.Pod), plain(a), metav1.Duration{Duration: a.RetryAfter}, errorText(a.Err)})
}

// MarshalJSON names the attachments, and writes the error as its text.
func (s Step) MarshalJSON() ([]byte, error) {
	type plain Step
	var problem string
	if s.Err != nil {
		problem = s.Err.Error()
	}
	return json.Marshal(struct {
		plain
		RequeueAfter metav1.Duration `json:"requeueAfter,omitzero"`
		Attached     []string        `json:"attached,omitempty"`
		Error        string          `json:"error,omitempty"`
	}{plain(s), metav1.Duration{Duration: s.RequeueAfter}, attachmentNames(s.Attached), problem})
}

func attachmentNames(list []*storagev1.VolumeAttachment) []string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	return names
}

// MarshalJSON names what the action is about, and holds a node or claim whole only
// where it is to be written.
func (a Action) MarshalJSON() ([]byte, error) {
	type plain Action
	out := struct {
		plain
		Pod   string          `json:"pod,omitempty"`
		Grace metav1.Duration `json:"grace,omitzero"`
		Name  string          `json:"name,omitempty"`
		Node  *corev1.Node    `json:"node,omitempty"`
		Claim *Claim          `json:"claim,omitempty"`
	}{plain: plain(a), Pod: podText(a.Pod), Grace: metav1.Duration{Duration: a.Grace}}
	switch {
	case a.Node != nil:
		out.Name = a.Node.Name
	case a.Claim != nil:
		out.Name = a.Claim.Name
	}
	switch a.Kind {
	case PatchNode:
		out.Node = a.Node
	case PatchClaim:
		out.Claim = a.Claim
	}
	return json.Marshal(out)
}

func text(d *time.Duration) *metav1.Duration {
	if d == nil {
		return nil
	}
	return &metav1.Duration{Duration: *d}
}

// MarshalJSON writes the claim as the parts that this package knows.
func (c Claim) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Metadata               metav1.ObjectMeta  `json:"metadata"`
		Pool                   string             `json:"pool,omitempty"`
		ExpireAfter            *metav1.Duration   `json:"expireAfter,omitempty"`
		TerminationGracePeriod *metav1.Duration   `json:"terminationGracePeriod,omitempty"`
		ProviderID             string             `json:"providerID,omitempty"`
		Conditions             []metav1.Condition `json:"conditions,omitempty"`
	}{c.ObjectMeta, c.Pool, text(c.ExpireAfter), text(c.TerminationGracePeriod), c.ProviderID, c.Conditions})
}
