package jepsen

import (
	"strings"
	"testing"
)

func TestEveryShapeOfValueSaysWhatItMeans(t *testing.T) {
	tests := map[string]struct {
		in     string
		values Values
		want   string
	}{
		"no value": {`
{:process 0, :type :invoke, :f :acquire, :value nil}
{:process 0, :type :ok, :f :acquire, :value nil}
{:process 0, :type :invoke, :f :release}
{:process 0, :type :ok, :f :release}`, "", `
0/c0 invoke acquire lock
0/c0 ok acquire lock
0/c0 invoke release lock
0/c0 ok release lock`},
		"names that acquires share": {`
{:process 0, :type :invoke, :f :lock, :value "a"}
{:process 0, :type :ok, :f :lock, :value "a"}
{:process 1, :type :invoke, :f :lock, :value "a"}
{:process 1, :type :fail, :f :lock, :value "a"}
{:process 0, :type :invoke, :f :unlock, :value "a"}
{:process 0, :type :ok, :f :unlock, :value "a"}`, "", `
0/c0 invoke acquire a
0/c0 ok acquire a
1/c1 invoke acquire a
1/c1 fail acquire a
0/c0 invoke release a
0/c0 ok release a`},
		"a fence comes back": {`
{:process 0, :type :invoke, :f :acquire, :value nil}
{:process 0, :type :ok, :f :acquire, :value 7}
{:process 0, :type :invoke, :f :write, :value 3}
{:process 0, :type :ok, :f :write, :value 3}
{:process 0, :type :invoke, :f :release, :value 7}
{:process 0, :type :ok, :f :release, :value 7}`, "", `
0/c0 invoke acquire lock
0/c0 ok acquire lock { 7}
0/c0 invoke write lock [3]
0/c0 ok write lock [3]
0/c0 invoke release lock { 7}
0/c0 ok release lock`},
		"a token comes back": {`
{:process 0, :type :invoke, :f :acquire}
{:process 0, :type :ok, :f :acquire, :value "t1"}
{:process 0, :type :invoke, :f :release, :value "t1"}
{:process 0, :type :ok, :f :release, :value "t1"}`, "", `
0/c0 invoke acquire lock
0/c0 ok acquire lock {t1 0}
0/c0 invoke release lock {t1 0}
0/c0 ok release lock`},
		"independent tuples": {`
{:process 0, :type :invoke, :f :acquire, :value [:a nil]}
{:process 0, :type :ok, :f :acquire, :value [:a 7]}
{:process 1, :type :invoke, :f :acquire, :value #jepsen.independent.Tuple [2 nil]}
{:process 1, :type :ok, :f :acquire, :value #jepsen.independent.Tuple{:key 2, :value "t"}}
{:process 0, :type :invoke, :f :read, :value [:a nil]}
{:process 0, :type :ok, :f :read, :value [:a 5]}`, "", `
0/c0 invoke acquire a
0/c0 ok acquire a { 7}
1/c1 invoke acquire 2
1/c1 ok acquire 2 {t 0}
0/c0 invoke read a
0/c0 ok read a [5]`},
		"maps that name the client follow what names the operation": {`
{:process 0, :type :invoke, :f :acquire, :value "6f1a"}
{:process 1, :type :invoke, :f :acquire, :value "77b0"}
{:process 1, :type :ok, :f :acquire, :value {:client "n2", :fence 1, :uid "77b0"}}
{:process 0, :type :fail, :f :acquire, :value "6f1a"}
{:process 1, :type :invoke, :f :release, :value "0c55"}
{:process 1, :type :ok, :f :release, :value {:client "n2", :fence 0, :uid "0c55"}}`, ValuesToken, `
0/c1 invoke acquire lock {6f1a 0}
1/c0 invoke acquire lock {77b0 0}
1/c0 ok acquire lock { 1}
0/c1 fail acquire lock {6f1a 0}
1/c0 invoke release lock {0c55 0}
1/c0 ok release lock`},
		"tokens that are proposed": {`
{:process 0, :type :invoke, :f :acquire, :value "t1"}
{:process 0, :type :ok, :f :acquire, :value "t1"}
{:process 1, :type :invoke, :f :acquire, :value "t2"}
{:process 1, :type :info, :f :acquire, :value "t2", :error :timeout}`, ValuesToken, `
0/c0 invoke acquire lock {t1 0}
0/c0 ok acquire lock {t1 0}
1/c1 invoke acquire lock {t2 0}
1/c1 info acquire lock {t2 0}`},
		"locks that only one acquire names": {`
{:process 0, :type :invoke, :f :acquire, :value :a}
{:process 1, :type :invoke, :f :acquire, :value :b}`, ValuesLock, `
0/c0 invoke acquire a
1/c1 invoke acquire b`},
		"modes": {`
{:process 0, :type :invoke, :f :acquire, :value :read}
{:process 0, :type :ok, :f :acquire, :value :read}
{:process 1, :type :invoke, :f :write-lock}
{:process 1, :type :ok, :f :write-lock}
{:process 2, :type :invoke, :f :acquire, :value [:a :write]}`, "", `
0/c0 invoke acquire lock read
0/c0 ok acquire lock read
1/c1 invoke acquire lock write
1/c1 ok acquire lock write
2/c2 invoke acquire a write`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Read(strings.NewReader(tt.in), "h.edn", tt.values)
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(r.Ops); got != strings.TrimPrefix(tt.want, "\n")+"\n" {
				t.Errorf("got\n%swant%s", got, tt.want)
			}
		})
	}
}
