package node

import (
	"slices"
	"strings"
	"testing"
)

func TestReadOnlyNodeTellsThatItIsAReplica(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	n.SetReadOnly(true)
	play(t, s, []step{{0, "ROLE", "-ERR the simulated node does not know its primary"}})
	if got := do(s, 0, "HELLO"); !strings.HasSuffix(got, "$4 role $7 replica $7 modules *0") {
		t.Errorf("HELLO: got %q", got)
	}
}

func TestCommandsThatTheNodeDoesNotHaveSaySo(t *testing.T) {
	play(t, newNode(t).Connect(), []step{
		{0, "BLPOP l 0", "-ERR the simulated node does not support the command 'blpop'"},
		{0, "XADD s * f v", "-ERR the simulated node does not support the command 'xadd'"},
		{0, "HPEXPIRE h 1000 FIELDS 1 f", "-ERR the simulated node does not support the command 'hpexpire'"},
		{0, "DELIFEQ k v", "-ERR the simulated node does not support the command 'delifeq'"},
		{0, "EVAL return_redis.pcall('HPTTL','h','FIELDS','1','f')['err'] 0", "$59 ERR the simulated node does not support the command 'hpttl'"},
		{0, "SET k v IFEQ t PX 1000", "-ERR the simulated node does not support the option 'ifeq' of the command 'set'"},
		{0, "SET k v PX 1000 ifdne d", "-ERR the simulated node does not support the option 'ifdne' of the command 'set'"},
		{0, "EVAL return_redis.pcall('SET','k','v','IFNE','t')['err'] 0", "$78 ERR the simulated node does not support the option 'ifne' of the command 'set'"},
		{0, "SET k v IFEQ", "-ERR syntax error"},
		{0, "SET k IFEQ BAD", "-ERR syntax error"},
		{0, "SELECT 1", "-ERR DB index is out of range"},
		{0, "SCAN 0 MATCH [z-a]", "-ERR the simulated node failed at 'SCAN': regexp: Compile(`(?s)^\\Q\\E[z-a]\\Q\\E$`): error parsing regexp: invalid character class range: `z-a`"},
		{0, "", "-ERR the simulated node got a command without a name"},
		{0, "CLIENT LIST", "-ERR the simulated node does not support the command 'client|list'"},
		{0, "XADD", "-ERR wrong number of arguments for 'xadd' command"},
		{0, "NOSUCH a b", "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b'"},
	})
}

func TestASessionThatHasEndedHearsNothing(t *testing.T) {
	for name, end := range map[string]func(*Node, *Session){
		"closed, twice":     func(_ *Node, s *Session) { s.Close(); s.Close() },
		"the node restarts": func(n *Node, _ *Session) { n.Restarted() },
	} {
		n := newNode(t)
		s, publisher := n.Connect(), n.Connect()
		do(s, 0, "SUBSCRIBE c")
		do(s, 0, "PSUBSCRIBE *")
		end(n, s)
		if got := do(publisher, 0, "PUBLISH c m") + do(publisher, 0, "PUBSUB CHANNELS") + do(publisher, 0, "PUBSUB NUMPAT"); got != ":0*0:0" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestTrackingTellsOfExpiryAndOfWhatIsDoneToTheNode(t *testing.T) {
	for name, end := range map[string]func(n *Node, ms float64){
		"expiry":   func(*Node, float64) {},
		"eviction": func(n *Node, _ float64) { n.Evict(at(5)) },
		"load":     func(n *Node, _ float64) { n.Load(at(5), Snapshot{}) },
	} {
		n := newNode(t)
		s, other := n.Connect(), n.Connect()
		do(s, 0, "HELLO 3")
		do(s, 0, "CLIENT TRACKING ON NOLOOP")
		do(other, 0, "SET k v PX 10")
		do(s, 0, "GET k")
		end(n, 5)
		_, pushes := pushed(s, 11, "PING")
		if got := heard(pushes); !slices.Equal(got, []string{"1: >2 $10 invalidate *1 $1 k"}) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
