package linear_test

import (
	"reflect"
	"testing"

	"github.com/lockstorm/lockstorm/checker/linear"
)

func TestModelsAreFoundByName(t *testing.T) {
	for _, m := range linear.Models() {
		named, ok := linear.ModelNamed(m.Name)
		if !ok || !reflect.DeepEqual(named.Claims, m.Claims) || m.Doc == "" {
			t.Errorf("%s: got %+v, %v", m.Name, named.Claims, ok)
		}
		if b := linear.ModelOf(m.Claims); b.Name != m.Name && m.Name != "mutex" {
			t.Errorf("%s is judged as %s", m.Name, b.Name)
		}
	}
	for name, permits := range map[string]int{
		"semaphore": 1, "semaphore:3": 3, "semaphore:0": 0, "semaphore:-1": 0, "semaphore:": 0, "semaphore:x": 0, "mutex:2": 0, "": 0, "fence": 0,
	} {
		if m, ok := linear.ModelNamed(name); m.Claims.Permits != permits || ok != (permits > 0) {
			t.Errorf("%q: got %+v, %v", name, m.Claims, ok)
		}
	}
}
