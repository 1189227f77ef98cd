package webapi

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"fmt"
	"hash"
	"runtime"

	"github.com/edge-runtime/edge/isolate/op"
)

// cryptoInline is how many bytes an op of Web Cryptography handles on the
// goroutine of the slice. More goes to a goroutine of its own.
const cryptoInline = 64 << 10

// cryptoSlots bounds the goroutines that compute at the same time, for all
// tenants together: their time is not charged to any request.
var cryptoSlots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// cryptoOps are the ops of the files crypto*.js. Arguments have been checked
// there, except for the bytes of keys, signatures and messages.
func cryptoOps() []op.Op {
	return []op.Op{
		{Name: "op_crypto_digest", Mode: op.Async, Func: opCryptoDigest},
		{Name: "op_crypto_sign", Mode: op.Async, Func: opCryptoSign},
		{Name: "op_crypto_verify", Mode: op.Async, Func: opCryptoVerify},
		{Name: "op_crypto_cipher", Mode: op.Async, Func: opCryptoCipher},
		{Name: "op_crypto_derive", Mode: op.Async, Func: opCryptoDerive},
		{Name: "op_crypto_generate", Mode: op.Async, Func: opCryptoGenerate},
		{Name: "op_crypto_import", Mode: op.Async, Func: opCryptoImport},
		{Name: "op_crypto_export", Mode: op.Async, Func: opCryptoExport},
		{Name: "op_crypto_equal", Mode: op.Sync, Func: opCryptoEqual},
	}
}

// operationError is the DOMException of a computation that failed. It says
// nothing about why, so that it is no oracle.
func operationError(format string, args ...any) error {
	return &op.Error{Class: op.DOMException, Name: "OperationError", Msg: fmt.Sprintf(format, args...)}
}

// dataError is the DOMException of key data that is malformed.
func dataError(format string, args ...any) error {
	return &op.Error{Class: op.DOMException, Name: "DataError", Msg: fmt.Sprintf(format, args...)}
}

func notSupported(format string, args ...any) error {
	return &op.Error{Class: op.DOMException, Name: "NotSupportedError", Msg: fmt.Sprintf(format, args...)}
}

// cryptoArgs are the arguments of a call in memory that outlives it.
type cryptoArgs struct {
	values []op.Value
	bytes  [][]byte
}

func (a *cryptoArgs) text(i int) string { return a.values[i].Text() }

func (a *cryptoArgs) int(i int) int { return int(a.values[i].Int()) }

func (a *cryptoArgs) truth(i int) bool { return a.values[i].Truth() }

// optional reports whether argument i was given.
func (a *cryptoArgs) optional(i int) bool { return i < len(a.values) && !a.values[i].IsNullish() }

// compute settles a call with what work makes of its arguments: at once when
// they are small and the work is not slow, else from another goroutine.
func compute(c *op.Call, slow bool, work func(a *cryptoArgs) (op.Value, error)) error {
	size := 0
	for i := range c.Len() {
		size += len(c.Bytes(i))
	}
	a := &cryptoArgs{values: make([]op.Value, c.Len()), bytes: make([][]byte, c.Len())}
	if size <= cryptoInline && !slow {
		for i := range a.values {
			a.values[i], a.bytes[i] = c.Arg(i), c.Bytes(i)
		}
		settle(c, a, work)
		return nil
	}
	for i := range a.values {
		encoded := c.Arg(i).Append(nil)
		v, _, err := op.Decode(encoded)
		if err != nil {
			return fmt.Errorf("copy argument %d: %w", i, err)
		}
		a.values[i], a.bytes[i] = v, v.Raw()
	}
	go func() {
		cryptoSlots <- struct{}{}
		defer func() { <-cryptoSlots }()
		settle(c, a, work)
	}()
	return nil
}

// settle runs work. Go's cryptography panics on some malformed input, which
// must not take the process down from a goroutine of ours.
func settle(c *op.Call, a *cryptoArgs, work func(a *cryptoArgs) (op.Value, error)) {
	defer func() {
		if r := recover(); r != nil {
			c.Reject(fmt.Errorf("compute: panic: %v", r))
		}
	}()
	v, err := work(a)
	if err != nil {
		c.Reject(err)
		return
	}
	c.Resolve(v)
}

// hashes are the hash functions of Web Cryptography.
var hashes = map[string]struct {
	id  crypto.Hash
	new func() hash.Hash
}{
	"SHA-1":   {crypto.SHA1, sha1.New},
	"SHA-256": {crypto.SHA256, sha256.New},
	"SHA-384": {crypto.SHA384, sha512.New384},
	"SHA-512": {crypto.SHA512, sha512.New},
}

// hashOf returns a hash function by the name that crypto_normalize.js gives it.
func hashOf(name string) (crypto.Hash, func() hash.Hash, error) {
	h, ok := hashes[name]
	if !ok {
		return 0, nil, notSupported("The hash function %q is not supported", name)
	}
	return h.id, h.new, nil
}

// opCryptoDigest gives the digest of (hash, data).
func opCryptoDigest(c *op.Call) error {
	return compute(c, false, func(a *cryptoArgs) (op.Value, error) {
		_, newHash, err := hashOf(a.text(0))
		if err != nil {
			return op.Undefined, err
		}
		h := newHash()
		h.Write(a.bytes[1])
		return op.Bytes(h.Sum(nil)), nil
	})
}

// macOf returns the HMAC of data.
func macOf(hashName string, key, data []byte) ([]byte, error) {
	_, newHash, err := hashOf(hashName)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(newHash, key)
	mac.Write(data)
	return mac.Sum(nil), nil
}

// opCryptoEqual compares (a, b), of one length, in constant time.
func opCryptoEqual(c *op.Call) error {
	a, b := c.Bytes(0), c.Bytes(1)
	c.Return(op.Bool(len(a) == len(b) && subtle.ConstantTimeCompare(a, b) == 1))
	return nil
}

// optionalBytes returns the bytes of argument i, empty when it was not given.
func (a *cryptoArgs) optionalBytes(i int) []byte {
	if !a.optional(i) {
		return nil
	}
	return bytes.Clone(a.bytes[i])
}
