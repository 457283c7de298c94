package redisserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// PathVariable is the environment variable that names the redis-server to run. If it is unset,
// Find searches PATH.
const PathVariable = "LOCKSTORM_REDIS_SERVER"

// minMajor.minMinor is the oldest version of Redis whose replies and options this project knows.
const minMajor, minMinor = 6, 2

var versionPattern = regexp.MustCompile(`\bv=((\d+)\.(\d+)[^ ]*)`)

// found caches the versions of binaries. Asking a binary for its version costs a process, and a
// campaign starts many servers.
var found = struct {
	sync.Mutex
	versions map[string]string
}{versions: map[string]string{}}

// Find returns the path and the version of the redis-server to run: the one that
// $LOCKSTORM_REDIS_SERVER names, else the one on PATH. The error, of one line, says that there is
// none or that its version is older than 6.2.
func Find() (path, version string, err error) {
	if name := os.Getenv(PathVariable); name != "" {
		path, err = exec.LookPath(name)
		if err != nil {
			return "", "", fmt.Errorf("$%s: %w", PathVariable, err)
		}
	} else if path, err = exec.LookPath("redis-server"); err != nil {
		return "", "", fmt.Errorf("no redis-server on PATH: install Redis %d.%d or later, or name one in $%s",
			minMajor, minMinor, PathVariable)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", "", fmt.Errorf("redis-server: %w", err)
	}
	version, err = versionOf(path)
	return path, version, err
}

func versionOf(path string) (string, error) {
	found.Lock()
	defer found.Unlock()
	if v, ok := found.versions[path]; ok {
		return v, nil
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	v, err := CheckVersion(string(out))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	found.versions[path] = v
	return v, nil
}

// CheckVersion reads the version from the output of redis-server --version. The error says that
// the output names no version, or one older than 6.2.
func CheckVersion(out string) (string, error) {
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return "", errors.New("not a redis-server: --version names no version")
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	if major < minMajor || major == minMajor && minor < minMinor {
		return "", fmt.Errorf("redis-server %s is too old: %d.%d or later is needed", m[1], minMajor, minMinor)
	}
	return m[1], nil
}
