package budget

import "encoding/json"

// MarshalJSON writes the error as its text.
func (s Status) MarshalJSON() ([]byte, error) {
	type plain Status
	var text string
	if s.Err != nil {
		text = s.Err.Error()
	}
	return json.Marshal(struct {
		plain
		Error string `json:"error,omitempty"`
	}{plain(s), text})
}
