package campaign

import (
	"cmp"
	"encoding/json"
	"slices"
)

// The default numbers of clients and locks.
const defaultClients, defaultKeys = 3, 1

// storedConfig is Config as stored in campaign.json. Clients and Keys are always stored, with their
// defaults if the user did not choose them. If the user chose a number that equals the default, Chosen
// has the field's name. When a campaign is read, Clients or Keys becomes 0 ("not chosen") if it equals
// its default and Chosen does not name it.
type storedConfig struct {
	plainConfig
	Chosen []string `json:"chosen,omitempty"`
}

// plainConfig is Config without its methods, so that encoding it does not call MarshalJSON again.
type plainConfig Config

// sizeOf is Config.Clients or Config.Keys: a pointer to the field, its name in JSON, and its
// default.
type sizeOf struct {
	of       *int
	name     string
	standard int
}

func (s *storedConfig) sizes() []sizeOf {
	return []sizeOf{{&s.Clients, "clients", defaultClients}, {&s.Keys, "keys", defaultKeys}}
}

// MarshalJSON implements json.Marshaler.
func (c Config) MarshalJSON() ([]byte, error) {
	s := storedConfig{plainConfig: plainConfig(c)}
	for _, size := range s.sizes() {
		if *size.of == size.standard {
			s.Chosen = append(s.Chosen, size.name)
		}
		*size.of = cmp.Or(*size.of, size.standard)
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(text []byte) error {
	var s storedConfig
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	for _, size := range s.sizes() {
		if *size.of == size.standard && !slices.Contains(s.Chosen, size.name) {
			*size.of = 0
		}
	}
	*c = Config(s.plainConfig)
	return nil
}
