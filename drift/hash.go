package drift

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// maxDepth bounds how deeply a hashed value may be nested, so that a value
// which contains itself is an error and not an endless recursion.
const maxDepth = 1000

// Hash returns the structural hash of v, the one that Karpenter v1.14 and the
// clouds' providers put into their hash annotations: to the bit, the hash of
// mitchellh/hashstructure v2 in its format 2, with slices as sets, zero fields
// ignored and nil pointers as zero values.
//
// Type names (without package), field names and the order of fields take part.
// A struct's field is skipped while it has its zero value, so a new field rolls
// no node until it is used; nil and empty differ, since an empty slice or map
// is not zero. Order in a slice doesn't matter, but equal elements cancel each
// other: [A, A] hashes like []. Pointers and interfaces are looked through.
// Field tags: hash:"ignore" and hash:"-" leave a field out, hash:"string" takes
// its String(), hash:"set" marks a set of its own. An instant is hashed in UTC,
// whatever its zone.
//
// A func, channel, uintptr, complex128, a nil pointer to a pointer, or nesting
// beyond 1,000 levels is an error.
func Hash(v any) (uint64, error) {
	return hashValue(reflect.ValueOf(v), 0)
}

// HashVersion is the version of [NodePoolHash] that Karpenter v1.14 writes into
// the hash-version annotation. Hashes of different versions are never compared.
const HashVersion = "v3"

// NodePoolHash returns the hash of a node pool's template in decimal, as it
// stands in the nodepool-hash annotation: metadata labels and annotations,
// taints, startupTaints, nodeClassRef, terminationGracePeriod and expireAfter.
// Requirements take no part, nor does anything outside the template.
func NodePoolHash(template *NodeClaimTemplate) string {
	hash, _ := Hash(template) // a template holds nothing that has no hash
	return strconv.FormatUint(hash, 10)
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	stringMapType = reflect.TypeFor[map[string]string]()
)

// hashValue looks through pointers and interfaces and hashes what is behind.
func hashValue(v reflect.Value, depth int) (uint64, error) {
	if depth > maxDepth {
		return 0, errors.New("hash: nested too deeply")
	}
	zero := reflect.TypeFor[int]()
	for steps := 0; v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer; steps++ {
		if steps > maxDepth {
			return 0, errors.New("hash: pointers nested too deeply")
		}
		if v.Kind() == reflect.Pointer {
			zero = v.Type().Elem()
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		v = reflect.Zero(zero)
	}
	return hashPlain(v, depth)
}

// hashPlain hashes a value that is neither a pointer nor an interface.
func hashPlain(v reflect.Value, depth int) (uint64, error) {
	switch v.Kind() {
	case reflect.String:
		return hashString(v.String()), nil
	case reflect.Array:
		return hashArray(v, depth)
	case reflect.Slice:
		return hashSlice(v, depth)
	case reflect.Map:
		return hashMap(v, depth)
	case reflect.Struct:
		if v.Type() == timeType {
			return hashTime(v.Interface().(time.Time)), nil
		}
		return hashStruct(v, depth)
	}
	return hashNumber(v)
}

// hashNumber hashes what has a fixed size, as its little-endian bytes.
func hashNumber(v reflect.Value) (uint64, error) {
	switch {
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			return fnv(1, 1), nil
		}
		return fnv(0, 1), nil
	case v.CanInt():
		return fnv(uint64(v.Int()), int(v.Type().Size())), nil
	case v.CanUint() && v.Kind() != reflect.Uintptr:
		return fnv(v.Uint(), int(v.Type().Size())), nil
	case v.Kind() == reflect.Float32:
		return fnv(uint64(math.Float32bits(float32(v.Float()))), 4), nil
	case v.Kind() == reflect.Float64:
		return fnv(math.Float64bits(v.Float()), 8), nil
	case v.Kind() == reflect.Complex64:
		c := v.Complex()
		re, im := math.Float32bits(float32(real(c))), math.Float32bits(float32(imag(c)))
		return fnv(uint64(re)|uint64(im)<<32, 8), nil
	}
	return 0, fmt.Errorf("hash: a %s has no hash", v.Kind())
}

func hashArray(v reflect.Value, depth int) (x uint64, err error) {
	for i := range v.Len() {
		h, err := hashValue(v.Index(i), depth+1)
		if err != nil {
			return 0, err
		}
		x = pair(x, h)
	}
	return x, nil
}

func hashSlice(v reflect.Value, depth int) (x uint64, err error) {
	for i := range v.Len() {
		h, err := hashValue(v.Index(i), depth+1)
		if err != nil {
			return 0, err
		}
		x ^= h
	}
	return x, nil
}

func hashMap(v reflect.Value, depth int) (x uint64, err error) {
	if v.Type() == stringMapType {
		return hashStringMap(v.Interface().(map[string]string)), nil
	}
	for entries := v.MapRange(); entries.Next(); {
		key, err := hashValue(entries.Key(), depth+1)
		if err != nil {
			return 0, err
		}
		value, err := hashValue(entries.Value(), depth+1)
		if err != nil {
			return 0, err
		}
		x ^= pair(key, value)
	}
	return finish(x), nil
}

// hashStringMap is hashMap for labels and annotations, most of a template, without
// an allocation for each key and value.
func hashStringMap(m map[string]string) (x uint64) {
	for key, value := range m {
		x ^= pair(hashString(key), hashString(value))
	}
	return finish(x)
}

func hashStruct(v reflect.Value, depth int) (uint64, error) {
	t := v.Type()
	x := hashString(t.Name())
	for i := range t.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		field := t.Field(i)
		tag := field.Tag.Get("hash")
		if !field.IsExported() || tag == "ignore" || tag == "-" {
			continue
		}
		h, err := hashField(v.Field(i), tag, depth+1)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", field.Name, err)
		}
		// Finishing after each field makes the order of fields count.
		x = finish(x ^ pair(hashString(field.Name), h))
	}
	return x, nil
}

// hashField hashes a field's value as its tag asks.
func hashField(v reflect.Value, tag string, depth int) (uint64, error) {
	if tag == "string" {
		s, ok := v.Interface().(fmt.Stringer)
		if !ok {
			return 0, fmt.Errorf("hash: tagged string, but %s has no String method", v.Type())
		}
		return hashString(s.String()), nil
	}
	h, err := hashValue(v, depth)
	if tag == "set" && reflect.Indirect(v).Kind() == reflect.Slice {
		h = finish(h)
	}
	return h, err
}

// hashTime hashes the binary form of an instant, in a zone without a name and
// with offset 0. That is not UTC, which has a marker of its own in the binary
// form, one that instants decoded from JSON don't bear.
func hashTime(t time.Time) uint64 {
	data, _ := t.In(time.FixedZone("", 0)).MarshalBinary() // fails for odd offsets only
	return hashString(string(data))
}

// FNV-1 (not 1a) of 64 bits.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func hashString(s string) uint64 {
	h := fnvOffset
	for i := range len(s) {
		h = h*fnvPrime ^ uint64(s[i])
	}
	return h
}

// fnv hashes the lowest size bytes of n, little endian.
func fnv(n uint64, size int) uint64 {
	return fnvMore(fnvOffset, n, size)
}

func fnvMore(h, n uint64, size int) uint64 {
	for range size {
		h = h*fnvPrime ^ n&0xff
		n >>= 8
	}
	return h
}

// pair hashes two hashes in order.
func pair(a, b uint64) uint64 { return fnvMore(fnv(a, 8), b, 8) }

// finish hashes a hash, to keep XORs of different levels apart.
func finish(a uint64) uint64 { return fnv(a, 8) }
