// This file makes the recorded cases a module of their own, so that
// they are no part of what an importer of the library downloads.
module github.com/node-disruption/disruption/internal/conformance/testdata

go 1.26
