// Command modsize prints how large the module's zip is that `go get` downloads,
// and exits 1 if it is 3 MB or more. It counts the committed files, without
// nested modules, compressed the way the module zip is.
package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
)

const limit = 3 << 20

func main() {
	size, files, err := zipSize()
	if err != nil {
		fmt.Fprintln(os.Stderr, "modsize:", err)
		os.Exit(2)
	}
	fmt.Printf("%d files, %d bytes\n", files, size)
	if size >= limit {
		os.Exit(1)
	}
}

func zipSize() (size, files int, err error) {
	listing, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return 0, 0, err
	}
	names := strings.Split(strings.TrimRight(string(listing), "\x00"), "\x00")
	nested := nestedModules(names)
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for _, name := range names {
		if inside(name, nested) {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return 0, 0, err
		}
		entry, err := w.Create(name)
		if err != nil {
			return 0, 0, err
		}
		if _, err := entry.Write(content); err != nil {
			return 0, 0, err
		}
		files++
	}
	return buffer.Len(), files, w.Close()
}

func nestedModules(names []string) []string {
	var dirs []string
	for _, name := range names {
		if dir, file := path.Split(name); file == "go.mod" && dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func inside(name string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}
