package testbed

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// ClusterOptions and FailoverOptions have the values of RedisOptions, field by field. The
// exception is the dial timeout of a failover client, whose dials include questions to
// Sentinels.
func TestAllClientsHaveTheSameOptions(t *testing.T) {
	want := reflect.ValueOf(*RedisOptions("", time.Minute))
	for name, got := range map[string]reflect.Value{
		"cluster":  reflect.ValueOf(*ClusterOptions([]string{"127.0.0.1:1"}, time.Minute)),
		"failover": reflect.ValueOf(*FailoverOptions("primary", []string{"127.0.0.1:1"}, time.Minute)),
	} {
		for i := range want.NumField() {
			field := want.Type().Field(i).Name
			if !want.Type().Field(i).IsExported() || slices.Contains([]string{"Addr", "NewClient"}, field) ||
				name == "failover" && field == "DialTimeout" {
				continue
			}
			f := got.FieldByName(field)
			if f.IsValid() && !reflect.DeepEqual(f.Interface(), want.Field(i).Interface()) {
				t.Errorf("%s: %s is %v, want %v", name, field, f, want.Field(i))
			}
		}
	}
}

// A failover client asks Sentinels while it dials. It gives up on a silent Sentinel only if
// its dial timeout is longer than two read timeouts.
func TestAFailoverClientsDialOutlastsItsQuestions(t *testing.T) {
	for _, timeout := range []time.Duration{time.Millisecond, time.Second, 5 * time.Second, time.Minute} {
		if o := FailoverOptions("primary", []string{"127.0.0.1:1"}, timeout); o.DialTimeout <= 2*o.ReadTimeout {
			t.Errorf("dials last %v, reads %v", o.DialTimeout, o.ReadTimeout)
		}
	}
}
