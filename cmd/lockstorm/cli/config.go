package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
)

// configFlags sets flags from a YAML or JSON file of flag names and values. Flags given on the
// command line win. Every error is an input.Error that names the file and, for a single setting,
// its line and the flag's name.
func configFlags(flags *pflag.FlagSet, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return input.Errorf("--config %s: %w", path, errors.Unwrap(err))
	}
	settings, err := readSettings(data)
	if err != nil {
		return input.Errorf("--config %s: %w", path, err)
	}
	var offered []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" && f.Name != "help" {
			offered = append(offered, f.Name)
		}
	})
	lines := map[string]int{}
	for _, s := range settings {
		switch {
		case !slices.Contains(offered, s.name):
			return input.Errorf("--config %s:%d: unknown name %q: did you mean %q?", path, s.line, s.name, campaign.Nearest(s.name, offered))
		case lines[s.name] > 0:
			return input.Errorf("--config %s:%d: %s is set on line %d already", path, s.line, s.name, lines[s.name])
		}
		lines[s.name] = s.line
		// Only the command line can have set the flag: a repetition in this file is an error above.
		if flags.Changed(s.name) {
			continue
		}
		text, err := s.text()
		if err == nil {
			err = flags.Set(s.name, text)
		}
		if err != nil {
			return input.Errorf("--config %s:%d: %s: %w", path, s.line, s.name, wrongValue(flags.Lookup(s.name), text, err))
		}
	}
	return nil
}

// wrongValue says what kind of value the flag takes, if that is known.
func wrongValue(f *pflag.Flag, text string, err error) error {
	if kind := kinds[f.Value.Type()]; kind != "" && text != "" {
		return fmt.Errorf("expected %s, got %q", kind, text)
	}
	return err
}

// setting is a name with its value in a configuration file.
type setting struct {
	name  string
	line  int
	value *yaml.Node
}

// errNoSettings reports a file that does not hold flag names and values.
var errNoSettings = errors.New("expected flag names and values, in YAML or JSON, such as \"ttl: 2s\"")

// readSettings returns the settings of a file, in the file's order. JSON is read as YAML, after
// tabs are replaced: YAML does not allow them.
func readSettings(data []byte) (all []setting, err error) {
	if json.Valid(data) {
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" ")) // a JSON string has no literal tabs
	}
	in := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := in.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil // an empty file sets nothing
	case err != nil:
		return nil, fmt.Errorf("%w: %s", errNoSettings, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := in.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one document, found another after it")
	}
	root := document.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil // the file has only comments
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("line %d: %w", root.Line, errNoSettings)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		all = append(all, setting{root.Content[i].Value, root.Content[i].Line, root.Content[i+1]})
	}
	return all, nil
}

// text returns the value as the command line would have it: commas separate the elements of a
// list.
func (s setting) text() (string, error) {
	value := resolve(s.value)
	switch value.Kind {
	case yaml.ScalarNode:
		if value.Tag != "!!null" {
			return value.Value, nil
		}
	case yaml.SequenceNode:
		var words []string
		for _, e := range value.Content {
			e = resolve(e)
			if e.Kind != yaml.ScalarNode || e.Tag == "!!null" {
				return "", fmt.Errorf("line %d: expected a list of names or numbers", e.Line)
			}
			words = append(words, e.Value)
		}
		return strings.Join(words, ","), nil
	}
	return "", errors.New("expected a string, a number, true, false or a list of these")
}

// resolve returns the node that an alias refers to, and any other node as it is.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}
