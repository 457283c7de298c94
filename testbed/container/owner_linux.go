package container

import (
	"fmt"
	"os"
	"strings"
)

// processHost names the machine as it is since it was booted, and the namespace
// in which this process has its id.
func processHost() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join([]string{hostname(), strings.TrimSpace(string(boot)), namespace}, " ")
}

// startOf is when a process began, in ticks since the machine was booted; "" if
// there is none.
func startOf(pid int) string {
	const started = 22 // its place among the fields of proc(5)'s stat
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field, the program's name, may hold anything but ends with the
	// last parenthesis.
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < started-2 {
		return ""
	}
	return fields[started-3]
}
