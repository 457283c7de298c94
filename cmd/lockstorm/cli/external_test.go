package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/redisserver"
)

func TestAPasswordIsNeitherShownNorStored(t *testing.T) {
	const password = "correct-horse-battery"
	s, err := redisserver.Start(t.Context(), redisserver.Options{Args: []string{"--requirepass", password}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, c := range map[string]struct {
		variable, file string
		args           []string
		code           int
	}{
		"environment": {variable: password, args: []string{"--addr", s.Addr()}},
		"file":        {file: password + "\n", args: []string{"--addr", s.Addr()}},
		"wrong":       {variable: password + "x", args: []string{"--addr", s.Addr()}, code: campaign.ExitUsage},
		"in the URL":  {args: []string{"--addr", "redis://:" + password + "@" + s.Addr()}, code: campaign.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(passwordVariable, c.variable)
			if c.file != "" {
				c.args = append(c.args, "--password-file", file(t, "password", c.file))
			}
			store := t.TempDir()
			code, out, errs := lockstorm(t, append([]string{"run", "--testbed", "external", "--i-own-this-redis", "--locks", "set-nx-px", "--faults", "none",
				"--trials", "1", "--duration", "50ms", "--keep", "--store", store}, c.args...)...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, errs)
			}
			if strings.Contains(out+errs, password) {
				t.Errorf("shown: %s%s", out, errs)
			}
			files := 0
			err := filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				files++
				text, err := os.ReadFile(path)
				if strings.Contains(string(text), password) {
					t.Errorf("stored in %s", path)
				}
				return err
			})
			if err != nil || (files > 0) != (code == 0) {
				t.Errorf("%d files, %v", files, err)
			}
		})
	}
}
