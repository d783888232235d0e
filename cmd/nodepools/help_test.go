package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nodepools/nodepools/api/wrap"
)

// everyCommand calls a function with each command that there is help of.
func everyCommand(command *cobra.Command, visit func(*cobra.Command)) {
	if !command.HasParent() {
		command.InitDefaultHelpCmd()
	}
	visit(command)
	for _, within := range command.Commands() {
		everyCommand(within, visit)
	}
}

// helpOf is what a command prints when it is called with --help.
func helpOf(t *testing.T, program string, command *cobra.Command) string {
	t.Helper()
	args := append([]string{program}, strings.Fields(command.CommandPath())[len(strings.Fields(command.Root().CommandPath())):]...)
	var out, errs bytes.Buffer
	if code := execute(t.Context(), append(args, "--help"), streams{in: strings.NewReader(""), out: &out, err: &errs}); code != exitOK || errs.Len() > 0 {
		t.Fatalf("%q --help: exit code %d, %s", args, code, errs.String())
	}
	return out.String()
}

// The help text of every command is a golden file.
func TestHelp(t *testing.T) {
	everyCommand(newRoot("nodepools", streams{}), func(command *cobra.Command) {
		name := strings.ReplaceAll(command.CommandPath(), " ", "-") + ".txt"
		golden(t, filepath.Join("testdata", "help", name), strings.TrimSuffix(helpOf(t, "nodepools", command), "\n"))
	})
}

// No line of any help text is wider than a terminal that everybody has, lines of flags
// included, also where the program is called by its longer name.
func TestHelpFitsATerminal(t *testing.T) {
	for _, program := range []string{"nodepools", "kubectl-nodepools"} {
		everyCommand(newRoot(displayName(program), streams{}), func(command *cobra.Command) {
			for line := range strings.Lines(helpOf(t, program, command)) {
				line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "        ")
				if width := utf8.RuneCountInString(line); width > wrap.Width {
					t.Errorf("%s: %d columns: %s", command.CommandPath(), width, line)
				}
			}
		})
	}
}

// In every command -o is a format, and --output-file a file.
func TestOutputIsAFormatEverywhere(t *testing.T) {
	formats := map[string]string{}
	everyCommand(newRoot("nodepools", streams{}), func(command *cobra.Command) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			placeholder, _ := pflag.UnquoteUsage(flag)
			switch {
			case flag.Name == "output":
				formats[command.CommandPath()] = flag.Usage
				if flag.Shorthand != "o" || placeholder != "format" || command.Flags().Lookup("output-file") == nil {
					t.Errorf("%s: --output is -%s, of a %s, and --output-file is %v", command.CommandPath(), flag.Shorthand, placeholder, command.Flags().Lookup("output-file"))
				}
			case flag.Shorthand == "o":
				t.Errorf("%s: -o is --%s", command.CommandPath(), flag.Name)
			case flag.Name == "output-file" && (placeholder != "file" || flag.DefValue != "-"):
				t.Errorf("%s: --output-file is a %s, by default %s", command.CommandPath(), placeholder, flag.DefValue)
			}
		})
	})
	for _, command := range []string{"diff", "doctor", "explain node", "install", "inventory", "render", "status", "uninstall", "validate", "version", "windows"} {
		if formats["nodepools "+command] == "" {
			t.Errorf("%s has no --output", command)
		}
	}
}

// A wrong format, such as the file that -o was for inventory once, is an error that
// lists the formats and names the flag for a file; nothing is read before.
func TestWrongFormats(t *testing.T) {
	t.Chdir(t.TempDir())
	everyCommand(newRoot("nodepools", streams{}), func(command *cobra.Command) {
		if command.Flags().Lookup("output") == nil {
			return
		}
		name := strings.TrimPrefix(command.CommandPath(), "nodepools ")
		argument := map[string]string{"diff": "nowhere", "explain node": "gpu-1", "render": "nowhere", "validate": "nowhere", "windows": "nowhere"}[name]
		for _, wrong := range []string{"fleet.json", "-", "", "JSON", "wide"} {
			args := append([]string{"nodepools"}, strings.Fields(name+" "+argument)...)
			var out, errs bytes.Buffer
			code := execute(t.Context(), append(args, "-o", wrong), streams{in: strings.NewReader(""), out: &out, err: &errs})
			usage := command.Flags().Lookup("output").Usage
			formats := usage[strings.Index(usage, ": ")+2:]
			want := `error: --output "` + wrong + `" is not known: must be ` + formats + "; to write a file, use --output-file\nsee 'nodepools " + name + " --help'\n"
			if code != exitUsage || out.Len() > 0 || errs.String() != want {
				t.Errorf("%s -o %q: exit code %d, %s%s, want %s", name, wrong, code, out.String(), errs.String(), want)
			}
		}
	})
	if left, err := filepath.Glob("*"); err != nil || len(left) > 0 {
		t.Errorf("written: %v, %v", left, err)
	}
}
