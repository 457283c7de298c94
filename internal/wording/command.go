package wording

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Command returns a command line that can be pasted into a POSIX shell: it quotes words where needed and puts spaces between them.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote quotes a word if a shell would not take it as it is.
func Quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// special reports whether a shell may give r a special meaning.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:=@,", r)
}

// As replaces the first word of a command line, the program's name, by program, which As quotes. If
// program is "", As returns the command line unchanged.
func As(command, program string) string {
	_, rest, _ := strings.Cut(command, " ")
	if program == "" || command == "" {
		return command
	}
	return strings.TrimRight(Quote(program)+" "+rest, " ")
}

// CommandLines breaks a command line that Command made into lines of at most width characters. All lines but
// the last end with a backslash, so that a shell takes them as one command. Each line but the
// first begins with indent. A word that is longer than a line stands whole on its line. Width 0
// means no limit.
func CommandLines(command, indent string, width int) string {
	if width <= 0 || utf8.RuneCountInString(command) <= width {
		return command
	}
	const more = ` \` // the end of each line but the last
	lines := strings.Split(Pack(pairs(split(command), width-len(indent)-len(more)), " ", "", indent, width-len(more)), "\n"+indent)
	return strings.Join(lines, more+"\n"+indent)
}

// pairs joins each flag, such as --lock, with the value after it, so that CommandLines keeps both on one
// line. It does not join a flag and a value that together are longer than the width.
func pairs(words []string, width int) (all []string) {
	for i, w := range words {
		if i > 0 && strings.HasPrefix(words[i-1], "--") && !strings.HasPrefix(w, "-") &&
			utf8.RuneCountInString(words[i-1]+" "+w) <= width {
			all[len(all)-1] += " " + w
			continue
		}
		all = append(all, w)
	}
	return all
}

// split returns the words of a command line, with their quotes.
func split(command string) (words []string) {
	quoted, start := false, 0
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == '\\' && !quoted:
			i++ // the next character is no quote
		case command[i] == '\'':
			quoted = !quoted
		case command[i] == ' ' && !quoted:
			words, start = append(words, command[start:i]), i+1
		}
	}
	return append(words, command[start:])
}
