// Package lab has the files that docker-compose.yml mounts into the lab's containers. Its tests
// check that the lab's files agree with each other and with docs/lab.md.
package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// compose is the part of docker-compose.yml that these tests read.
type compose struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Ports       []string
		Networks    any
		Healthcheck struct{ Test []string }
	}
	Networks map[string]any
}

// proxy is an entry of toxiproxy.json.
type proxy struct {
	Name, Listen, Upstream string
	Enabled                bool
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var variable = regexp.MustCompile(`\$\{(\w+):-([^}]*)\}`)

// readCompose returns docker-compose.yml with each variable replaced by its default.
func readCompose(t *testing.T) compose {
	t.Helper()
	var c compose
	if err := yaml.Unmarshal([]byte(variable.ReplaceAllString(read(t, "../docker-compose.yml"), "$2")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func readProxies(t *testing.T) []proxy {
	t.Helper()
	var p []proxy
	if err := json.Unmarshal([]byte(read(t, "toxiproxy.json")), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// member is a node or a Sentinel of the replicated group: its service in docker-compose.yml, the
// name and the port that it announces, and the port on which it serves.
type member struct{ service, name, port, serves string }

// members returns the nodes and Sentinels of the replicated group, sorted by service. reaches reports
// whether one member must reach another.
func members(c compose) (all []member, reaches func(from, to member) bool) {
	ports := map[string]string{"/lab/node.sh": "6379", "/lab/sentinel.sh": "26379"}
	for service, s := range c.Services {
		if len(s.Command) >= 4 && ports[s.Command[1]] != "" {
			all = append(all, member{service, s.Command[2], s.Command[3], ports[s.Command[1]]})
		}
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.service, b.service) })
	return all, func(from, to member) bool {
		return from != to && (from.serves == "26379" || to.serves == "6379")
	}
}

func TestComposeAcceptsTheFile(t *testing.T) {
	commands := [][]string{{"docker", "compose"}, {"docker-compose"}}
	tried := 0
	for _, c := range commands {
		if exec.Command(c[0], append(c[1:], "version")...).Run() != nil {
			continue
		}
		tried++
		out, err := exec.Command(c[0], append(c[1:], "--file", "../docker-compose.yml", "config", "--quiet")...).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s config: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	if tried == 0 {
		t.Skip("neither docker compose nor docker-compose is here to read docker-compose.yml")
	}
}

func TestEveryLinkHasItsProxy(t *testing.T) {
	c, got := readCompose(t), map[string]proxy{}
	proxies := readProxies(t)
	for _, p := range proxies {
		got[p.Name] = p
	}
	all, reaches := members(c)
	if len(all) != 6 {
		t.Fatalf("got %d nodes and Sentinels, want 6: %v", len(all), all)
	}
	want := 0
	for _, from := range all {
		for _, to := range all {
			if !reaches(from, to) {
				continue
			}
			want++
			p := proxy{from.service + "-" + to.service, "from-" + from.service + ":" + to.port, to.service + ":" + to.serves, true}
			if got[p.Name] != p {
				t.Errorf("toxiproxy.json: got %+v, want %+v", got[p.Name], p)
			}
		}
	}
	if len(proxies) != want {
		t.Errorf("toxiproxy.json has %d proxies, want %d", len(proxies), want)
	}
	health := c.Services["toxiproxy"].Healthcheck.Test
	if last := proxies[len(proxies)-1].Name; health[len(health)-1] != last {
		t.Errorf("toxiproxy's health check looks for %s, want the last proxy, %s", health[len(health)-1], last)
	}
}

func TestNamesLeadToToxiproxy(t *testing.T) {
	c := readCompose(t)
	all, reaches := members(c)
	networks := c.Services["toxiproxy"].Networks.(map[string]any)
	for _, from := range all {
		want := []string{"from-" + from.service}
		for _, to := range all {
			if reaches(from, to) {
				want = append(want, to.name)
			}
		}
		var got []string
		if n, ok := networks[from.service].(map[string]any); ok {
			for _, alias := range n["aliases"].([]any) {
				got = append(got, alias.(string))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("toxiproxy's names in network %s: got %v, want %v", from.service, got, want)
		}
		if own := fmt.Sprint(c.Services[from.service].Networks); own != "[default "+from.service+"]" {
			t.Errorf("%s is in networks %s, want default and its own", from.service, own)
		}
	}
}

func TestPageTellsServicesAndPorts(t *testing.T) {
	c, page := readCompose(t), read(t, "../docs/lab.md")
	all, _ := members(c)
	announced := map[string]string{}
	for _, m := range all {
		announced[m.service] = fmt.Sprintf("`%s:%s`", m.name, m.port)
	}
	rows := 0
	for service, s := range c.Services {
		if len(s.Ports) == 0 {
			t.Errorf("%s publishes no port", service)
		}
		for _, port := range s.Ports {
			host, _, _ := strings.Cut(strings.TrimPrefix(port, "127.0.0.1:"), ":")
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s: want it on 127.0.0.1 only", service, port)
			}
			row := fmt.Sprintf("| `%s` | %s | %s |", service, announced[service], host)
			if row = strings.ReplaceAll(row, "  ", " "); !strings.Contains(page, "\n"+row) {
				t.Errorf("docs/lab.md lacks the row %s", row)
			}
			rows++
		}
	}
	if got := len(regexp.MustCompile("(?m)^\\| `[a-z0-9-]+` \\|.* \\| [0-9-]+ \\|").FindAllString(page, -1)); got != rows {
		t.Errorf("docs/lab.md has %d rows of services and ports, want %d", got, rows)
	}
}

func TestPageTellsProxiesAndVariables(t *testing.T) {
	page, proxies := read(t, "../docs/lab.md"), readProxies(t)
	_, links, _ := strings.Cut(page, "| links | proxies |")
	links, _, _ = strings.Cut(links, "\n\n")
	var got, want []string
	for _, name := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(links, -1) {
		got = append(got, name[1])
	}
	for _, p := range proxies {
		want = append(want, p.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("proxies of docs/lab.md: got %v, want %v", got, want)
	}
	for _, v := range variable.FindAllStringSubmatch(read(t, "../docker-compose.yml"), -1) {
		if row := fmt.Sprintf("| `%s` | `%s` |", v[1], v[2]); !strings.Contains(page, row) {
			t.Errorf("docs/lab.md lacks the row %s", row)
		}
	}
}

func TestWorkflowsCallTargetsThatAre(t *testing.T) {
	makefile := read(t, "../Makefile")
	for _, name := range []string{"github-actions.yml", "gitlab-ci.yml", "nightly.yml"} {
		text := read(t, "../docs/ci/"+name)
		if err := yaml.Unmarshal([]byte(text), new(map[string]any)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		calls := regexp.MustCompile(`\bmake ((?:[a-z-]+ ?)+)`).FindAllStringSubmatch(regexp.MustCompile(`(?m)^\s*# .*$`).ReplaceAllString(text, ""), -1)
		if len(calls) == 0 {
			t.Errorf("%s calls no target of the Makefile", name)
		}
		for _, call := range calls {
			for _, target := range strings.Fields(call[1]) {
				if !strings.Contains(makefile, "\n"+target+":") {
					t.Errorf("%s calls make %s, which the Makefile does not have", name, target)
				}
			}
		}
	}
}
