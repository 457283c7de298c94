package container

import (
	"net/netip"
	"testing"

	"github.com/moby/moby/api/types/system"
)

func TestConfigurationSaysWhatTheCommandLineSaid(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":       {nil, "\n"},
		"a value":       {[]string{"--port", "6379"}, "port \"6379\"\n"},
		"several":       {[]string{"--replicaof", "10.0.0.1", "7", "--dir", "/data"}, "replicaof \"10.0.0.1\" \"7\"\ndir \"/data\"\n"},
		"empty":         {[]string{"--save", ""}, "save \"\"\n"},
		"none":          {[]string{"--daemonize"}, "daemonize\n"},
		"what it means": {[]string{"--a", "x\"y\\z\n\xff $"}, `a "x\"y\\z\x0a\xff $"` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := configuration(c.args); got != c.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	if _, err := configuration([]string{"6379"}); err == nil {
		t.Error("a value without an option: got no error")
	}
}

func TestServersRunAsWhoeverOwnsTheirFiles(t *testing.T) {
	for name, c := range map[string]struct {
		info system.Info
		want facts
	}{
		"an engine":       {system.Info{SecurityOptions: []string{"name=seccomp,profile=default"}}, facts{user: "7:8"}},
		"rootless":        {system.Info{SecurityOptions: []string{"name=rootless"}}, facts{user: "0:0", rootless: true}},
		"user namespaces": {system.Info{SecurityOptions: []string{"name=userns"}}, facts{user: "7:8", userns: true}},
		"SELinux":         {system.Info{SecurityOptions: []string{"name=selinux"}}, facts{user: "7:8", labels: true}},
		"Docker Desktop":  {system.Info{OperatingSystem: "Docker Desktop"}, facts{user: "7:8", desktop: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := factsOf(c.info, 7, 8); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestServersReachThisMachineWhereItListens(t *testing.T) {
	for name, c := range map[string]struct {
		facts    facts
		ip, host string
	}{
		"an engine":      {facts{}, "10.1.2.1", "10.1.2.1"},
		"Docker Desktop": {facts{desktop: true}, "127.0.0.1", "host.docker.internal"},
	} {
		t.Run(name, func(t *testing.T) {
			p := place{&session{engine: &engine{facts: c.facts}, gateway: netip.MustParseAddr("10.1.2.1")}}
			if ip, host := p.Listen(); ip != c.ip || host != c.host {
				t.Errorf("got %s and %q, want %s and %q", ip, host, c.ip, c.host)
			}
		})
	}
}
