package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// groupAnnotation is the key of a flag's annotation that names the flag's group in the help.
const groupAnnotation = "group"

// group puts flags into a group of the help.
func group(flags *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, groupAnnotation, []string{title}) // a wrong name leaves a flag without a group; a test looks for such flags
	}
}

type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups returns the visible flags of a command by group. The groups stand in the order of
// their first flags; flags without a group come last.
func flagGroups(cmd *cobra.Command) (groups []flagGroup) {
	others := flagGroup{"Flags", pflag.NewFlagSet("", pflag.ContinueOnError)}
	cmd.LocalFlags().SortFlags = cmd.Flags().SortFlags
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		at := others
		if title := f.Annotations[groupAnnotation]; len(title) > 0 {
			i := slices.IndexFunc(groups, func(g flagGroup) bool { return g.title == title[0] })
			if i < 0 {
				i = len(groups)
				groups = append(groups, flagGroup{title[0], pflag.NewFlagSet("", pflag.ContinueOnError)})
			}
			at = groups[i]
		}
		at.flags.SortFlags = false
		at.flags.AddFlag(f)
	})
	if len(groups) > 0 {
		others.title = "Other flags"
	}
	return append(groups, others)
}

// help returns the help of a command for a screen of the given width; 0 = unlimited.
func (a *output) help(cmd *cobra.Command, width int) string {
	var b strings.Builder
	if cmd.Name() == "exit-codes" {
		return a.exitCodesText(width)
	}
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(refill(text, width) + "\n\n")
	return b.String() + a.usage(cmd, width)
}

// usage returns the usage text of a command: examples, subcommands, flags and exit codes.
func (a *output) usage(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " [command]\n")
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	var commands, topics []*cobra.Command
	for _, c := range cmd.Commands() {
		switch {
		case c.IsAvailableCommand():
			commands = append(commands, c)
		case c.IsAdditionalHelpTopicCommand():
			topics = append(topics, c)
		}
	}
	b.WriteString(commandTable("Commands", commands, width) + commandTable("Topics of help", topics, width))
	for _, g := range flagGroups(cmd) {
		if usages := flagUsages(g.flags, width); usages != "" {
			b.WriteString("\n" + wording.Fill(g.title+":", "  ", width) + "\n" + usages)
		}
	}
	switch {
	case cmd.HasAvailableSubCommands():
		b.WriteString("\n" + wording.Fill(fmt.Sprintf("%s COMMAND --help tells more about a command.", cmd.CommandPath()), "", width) + "\n")
	default:
		b.WriteString("\nExit codes:\n" + codesTable(codesOf(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")), width))
	}
	return b.String()
}

// flagUsages describes flags for a screen of the given width; 0 = unlimited.
func flagUsages(flags *pflag.FlagSet, width int) string {
	text := flags.FlagUsages()
	if width <= 0 || text == "" {
		return text
	}
	column := usageColumn(flags, text)
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		begin, indent, words := line[:column], strings.Repeat(" ", column), strings.Fields(line[column:])
		if width-column < narrowestUsage { // too narrow: the description goes below the flag
			b.WriteString(strings.TrimRight(begin, " ") + "\n")
			indent = strings.Repeat(" ", flagIndent)
			begin = indent
		}
		b.WriteString(wording.Pack(words, " ", begin, indent, width) + "\n")
	}
	return b.String()
}

// usageColumn returns the column at which the flags' descriptions begin in text, which pflag
// wrote.
func usageColumn(flags *pflag.FlagSet, text string) (column int) {
	flags.VisitAll(func(f *pflag.Flag) {
		if column > 0 || f.Hidden {
			return
		}
		_, usage := pflag.UnquoteUsage(f)
		before, _, _ := strings.Cut(text, usage)
		column = len(before) - 1 - strings.LastIndex(before, "\n")
	})
	return column
}

const (
	narrowestUsage = 24 // least width of a description beside its flag
	flagIndent     = 8  // indent of a description below its flag
)

func commandTable(title string, commands []*cobra.Command, width int) string {
	if len(commands) == 0 {
		return ""
	}
	widest := 0
	for _, c := range commands {
		widest = max(widest, len(c.Name()))
	}
	text := "\n" + title + ":\n"
	for _, c := range commands {
		begin := fmt.Sprintf("  %-*s  ", widest, c.Name())
		text += wording.Pack(strings.Fields(c.Short), " ", begin, strings.Repeat(" ", len(begin)), width) + "\n"
	}
	return text
}

// refill wraps the paragraphs of a text again if a line is wider than the screen. Indented lines
// are kept separate.
func refill(text string, width int) string {
	if width <= 0 || !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return len([]rune(l)) > width }) {
		return text
	}
	var paragraphs []string
	for p := range strings.SplitSeq(text, "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(p, "\n") {
			if n := len(lines); n > 0 && !strings.HasPrefix(line, " ") {
				lines[n-1] += " " + line
				continue
			}
			lines = append(lines, line)
		}
		for i, line := range lines {
			indent := ""
			if begin := len(line) - len(strings.TrimLeft(line, " ")); begin > 0 {
				indent = strings.Repeat(" ", begin+2)
			}
			lines[i] = wording.Fill(line, indent, width)
		}
		paragraphs = append(paragraphs, strings.Join(lines, "\n"))
	}
	return strings.Join(paragraphs, "\n\n")
}
