package container

import (
	"fmt"
	"os"
	"strings"
)

// processHost returns the machine's name, its boot id, and the namespace of this process's
// id.
func processHost() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join([]string{hostname(), strings.TrimSpace(string(boot)), namespace}, " ")
}

// startOf returns when a process began, in ticks since the machine's boot; "" if there is
// no such process.
func startOf(pid int) string {
	const started = 22 // the field's number in /proc/pid/stat, see proc(5)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field, the program's name, may contain any characters, but ends with the line's
	// last parenthesis.
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < started-2 {
		return ""
	}
	return fields[started-3]
}
