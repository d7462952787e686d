package disruption_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exceptions to purity, one line each with its reason: "file: finding".
var exceptions = map[string]string{
	"parallel.go: go statement": "the worker pool of Propose, which ends with the call",
}

// The library reads no clock, rolls no dice, touches no file, logs nothing,
// starts no goroutine that outlives a call and keeps no state between calls.
func TestPure(t *testing.T) {
	used := map[string]bool{}
	for _, path := range librarySources(t) {
		for _, finding := range impurities(t, path) {
			key := path + ": " + finding
			if _, excused := exceptions[key]; excused {
				used[key] = true
				continue
			}
			t.Errorf("%s", key)
		}
	}
	for key := range exceptions {
		assert.Truef(t, used[key], "the exception %q is not needed any more", key)
	}
}

// The test that guards purity must itself be able to fail.
func TestImpuritiesAreFound(t *testing.T) {
	src := `package p
import ("time"; "os"; "math/rand"; "log/slog")
var cache = map[string]int{}
var counter int
var seen = map[string]bool{}
func f() { go f(); cache["x"] = 1; counter++; delete(seen, "x"); _ = time.Now(); os.Exit(rand.Int()); slog.Info("") }`
	path := filepath.Join(t.TempDir(), "p.go")
	require.NoError(t, writeFile(path, src))
	found := strings.Join(impurities(t, path), "\n")
	for _, want := range []string{"import os", "import math/rand", "import log/slog", "go statement", "time.Now", "writes the global cache", "writes the global counter", "writes the global seen"} {
		assert.Contains(t, found, want)
	}
}

// librarySources are the files that an importer compiles: no tests, no programs,
// nothing internal that only tests use.
func librarySources(t *testing.T) []string {
	var paths []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch {
			case path == "examples", path == "internal", path == "tools", d.Name() == "testdata", strings.HasPrefix(d.Name(), ".") && path != ".":
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, filepath.ToSlash(path))
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// forbiddenImports by path or by the path's first elements.
var forbiddenImports = []string{
	"os", "log", "math/rand", "crypto/rand", "net", "net/http", "syscall", "unsafe", "io/ioutil",
	"k8s.io/client-go", "k8s.io/klog", "sigs.k8s.io/controller-runtime", "github.com/prometheus",
}

func impurities(t *testing.T, path string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, spec := range file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		for _, bad := range forbiddenImports {
			if name == bad || strings.HasPrefix(name, bad+"/") && name != "net/netip" { // netip only parses
				report("import %s", name)
			}
		}
	}
	globals := globalNames(t, filepath.Dir(path))
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report("go statement")
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" {
				switch n.Sel.Name {
				case "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick":
					report("time.%s", n.Sel.Name)
				}
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, left := range n.Lhs {
					if name := root(left); globals[name] {
						report("writes the global %s", name)
					}
				}
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, fn.Name) && globals[root(n.Args[0])] {
				report("writes the global %s", root(n.Args[0]))
			}
		case *ast.IncDecStmt:
			if name := root(n.X); globals[name] {
				report("writes the global %s", name)
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				report("func init")
			}
		}
		return true
	})
	return found
}

// globalNames are the package-level variables of the package in a directory.
func globalNames(t *testing.T, dir string) map[string]bool {
	names := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					names[name.Name] = true
				}
			}
		}
	}
	return names
}

// root is the variable that an assignment reaches into: a in a.b[i].c = x.
func root(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.IndexExpr:
		return root(e.X)
	case *ast.SliceExpr:
		return root(e.X)
	case *ast.StarExpr:
		return root(e.X)
	case *ast.ParenExpr:
		return root(e.X)
	}
	return ""
}
