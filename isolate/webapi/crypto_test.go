package webapi

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
)

// cryptoHost is the instance of a test: it keeps what the one call settles with.
type cryptoHost struct {
	op.Host
	settled chan cryptoSettlement
}

type cryptoSettlement struct {
	value []byte // encoded
	err   error
}

func (h *cryptoHost) Settle(_, _ uint32, v op.Value, err error) {
	h.settled <- cryptoSettlement{v.Append(nil), err}
}

func (h *cryptoHost) Context() context.Context { return context.Background() }

// callCrypto runs an Async op and returns what it settles with. The arguments
// are overwritten when the op's function has returned, as an engine may do.
func callCrypto(t *testing.T, fn func(*op.Call) error, args ...op.Value) (op.Value, error) {
	t.Helper()
	var memory []byte
	for _, a := range args {
		memory = a.Append(memory)
	}
	var borrowed []op.Value
	for rest := memory; len(rest) > 0; {
		var v op.Value
		var err error
		if v, rest, err = op.Decode(rest); err != nil {
			t.Fatal(err)
		}
		borrowed = append(borrowed, v)
	}
	host := &cryptoHost{settled: make(chan cryptoSettlement, 1)}
	if err := fn(op.NewCall(host, nil, 0, 1, borrowed)); err != nil {
		t.Fatalf("op failed: %v", err)
	}
	for i := range memory {
		memory[i] = 0xff
	}
	s := <-host.settled
	if s.err != nil {
		return op.Undefined, s.err
	}
	v, _, err := op.Decode(s.value)
	if err != nil {
		t.Fatal(err)
	}
	return v, nil
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDigestOfBothSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, hash, data, want string
	}{
		{"inline", "SHA-256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"on a goroutine", "SHA-1", strings.Repeat("a", 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := callCrypto(t, opCryptoDigest, op.String(c.hash), op.Bytes([]byte(c.data)))
			if err != nil || hex.EncodeToString(got.Raw()) != c.want {
				t.Errorf("got %x, %v; want %s", got.Raw(), err, c.want)
			}
		})
	}
}

func TestCryptoRefusesUnknownNames(t *testing.T) {
	t.Parallel()
	key := op.Bytes(make([]byte, 16))
	for _, c := range []struct {
		name string
		fn   func(*op.Call) error
		args []op.Value
		want string
	}{
		{"digest", opCryptoDigest, []op.Value{op.String("MD5"), key}, "NotSupportedError"},
		{"sign", opCryptoSign, []op.Value{op.String("HMAC"), op.String("MD5"), key, key, op.Int(0)}, "NotSupportedError"},
		{"cipher", opCryptoCipher, []op.Value{op.String("AES-ECB"), op.Bool(true), key, key}, "NotSupportedError"},
		{"cipher, key", opCryptoCipher, []op.Value{op.String("AES-CBC"), op.Bool(true), op.Bytes([]byte("k")), key, key}, "OperationError"},
		{"derive", opCryptoDerive, []op.Value{op.String("scrypt"), op.String("SHA-1"), key, op.Int(1)}, "NotSupportedError"},
		{"generate", opCryptoGenerate, []op.Value{op.String("P-224")}, "NotSupportedError"},
		{"import, format", opCryptoImport, []op.Value{op.String("P-256"), op.String("pem"), key}, "NotSupportedError"},
		{"import, curve", opCryptoImport, []op.Value{op.String("P-224"), op.String("raw"), key}, "DataError"},
		{"export", opCryptoExport, []op.Value{op.String("raw"), op.Bool(true), key}, "OperationError"},
		{"sign, key", opCryptoSign, []op.Value{op.String("Ed25519"), op.String(""), key, key, op.Int(0)}, "OperationError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := callCrypto(t, c.fn, c.args...)
			if got := op.Public(err); err == nil || got.Class != op.DOMException || got.Name != c.want {
				t.Errorf("got %v (%+v), want %s", err, got, c.want)
			}
		})
	}
}

func TestPanicsBecomeErrors(t *testing.T) {
	t.Parallel()
	for _, slow := range []bool{false, true} {
		_, err := callCrypto(t, func(c *op.Call) error {
			return compute(c, slow, func(*cryptoArgs) (op.Value, error) { panic("boom") })
		})
		if err == nil || op.Public(err).Msg != "internal error" || !strings.Contains(err.Error(), "boom") {
			t.Errorf("slow %v: got %v, want an internal error that holds the panic", slow, err)
		}
	}
}

func TestCryptCTRWraps(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	stream := func(counter string) string {
		out := make([]byte, 16)
		block.Encrypt(out, unhex(t, counter))
		return hex.EncodeToString(out)
	}
	for _, c := range []struct {
		name, counter string
		bits          int
		second        string // the counter of the second block
	}{
		{"all bits", "ffffffffffffffffffffffffffffffff", 128, "00000000000000000000000000000000"},
		{"low half", "0000000000000001ffffffffffffffff", 64, "00000000000000010000000000000000"},
		{"no wrap", "0000000000000001ffffffffffffffff", 66, "00000000000000020000000000000000"},
		{"odd bits", "000000000000000000000000000001ff", 9, "00000000000000000000000000000000"},
		{"one bit", "aa0000000000000000000000000000bb", 1, "aa0000000000000000000000000000ba"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := cryptCTR(block, make([]byte, 32), unhex(t, c.counter), c.bits)
			if want := stream(c.counter) + stream(c.second); err != nil || hex.EncodeToString(out) != want {
				t.Errorf("got %x, %v; want %s", out, err, want)
			}
		})
	}
	if _, err := cryptCTR(block, make([]byte, 33), make([]byte, 16), 1); err == nil {
		t.Error("three blocks with a counter of one bit: no error")
	}
}

func TestCryptGCMShortTags(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []int{4, 8, 12, 13, 16} {
		for _, size := range []int{0, 1, 16, 100} {
			data, iv, additional := make([]byte, size), []byte("nonce of another size"), []byte("header")
			sealed, err := cryptGCM(block, true, data, iv, tag, additional)
			if err != nil || len(sealed) != size+tag {
				t.Fatalf("tag %d, size %d: %d bytes, %v", tag, size, len(sealed), err)
			}
			opened, err := cryptGCM(block, false, sealed, iv, tag, additional)
			if err != nil || !bytes.Equal(opened, data) {
				t.Errorf("tag %d, size %d: got %x, %v", tag, size, opened, err)
			}
			for i := range sealed {
				sealed[i] ^= 0x80
				if _, err := cryptGCM(block, false, sealed, iv, tag, additional); err == nil {
					t.Errorf("tag %d, size %d: byte %d was changed unseen", tag, size, i)
				}
				sealed[i] ^= 0x80
			}
		}
	}
	if _, err := cryptGCM(block, false, []byte("abc"), []byte("iv"), 4, nil); err == nil {
		t.Error("data shorter than its tag: no error")
	}
}

// RFC 3394, 4.6.
func TestCryptKW(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(unhex(t, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"))
	if err != nil {
		t.Fatal(err)
	}
	key := unhex(t, "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f")
	wrapped, err := cryptKW(block, true, key)
	if want := "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"; err != nil || hex.EncodeToString(wrapped) != want {
		t.Errorf("got %x, %v; want %s", wrapped, err, want)
	}
	if got, err := cryptKW(block, false, wrapped); err != nil || !bytes.Equal(got, key) {
		t.Errorf("unwrapped: got %x, %v; want %x", got, err, key)
	}
	for _, data := range [][]byte{nil, key[:8], key[:17]} {
		if _, err := cryptKW(block, true, data); err == nil {
			t.Errorf("wrapping %d bytes: no error", len(data))
		}
		if _, err := cryptKW(block, false, data); err == nil {
			t.Errorf("unwrapping %d bytes: no error", len(data))
		}
	}
}

// The empty salt is encoded by hand; the library checks what it makes, since it
// finds the length of a salt by itself when it is told 0.
func TestPSSWithEmptySalt(t *testing.T) {
	t.Parallel()
	for _, bits := range []int{1024, 1025, 1031, 1032} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"SHA-1", "SHA-256", "SHA-384"} {
			id, newHash, err := hashOf(name)
			if err != nil {
				t.Fatal(err)
			}
			digest := newHash().Sum(nil)
			signature, err := signEmptySalt(key, id, digest)
			if err != nil {
				t.Fatalf("%d bits, %s: %v", bits, name, err)
			}
			if err := rsa.VerifyPSS(&key.PublicKey, id, digest, signature, nil); err != nil {
				t.Errorf("%d bits, %s: the library refuses the signature: %v", bits, name, err)
			}
			if !verifyPSS(&key.PublicKey, id, digest, 0, signature) {
				t.Errorf("%d bits, %s: the signature does not verify", bits, name)
			}
			if verifyPSS(&key.PublicKey, id, digest, 1, signature) {
				t.Errorf("%d bits, %s: verifies with a salt of 1 byte", bits, name)
			}
			salted, err := rsa.SignPSS(rand.Reader, key, id, digest, &rsa.PSSOptions{SaltLength: 8})
			if err != nil {
				t.Fatal(err)
			}
			if verifyPSS(&key.PublicKey, id, digest, 0, salted) || !verifyPSS(&key.PublicKey, id, digest, 8, salted) {
				t.Errorf("%d bits, %s: the length of the salt is not checked", bits, name)
			}
			signature[len(signature)-1] ^= 1
			if verifyPSS(&key.PublicKey, id, digest, 0, signature) || verifyPSS(&key.PublicKey, id, digest, 0, signature[1:]) {
				t.Errorf("%d bits, %s: a wrong signature verifies", bits, name)
			}
		}
	}
}

func TestDerivePBKDF2IsLimited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		length, iterations int
		ok                 bool
	}{
		{"one block", 32, 1000, true},
		{"nothing", 0, 1 << 31, true},
		{"many iterations", 32, maxIterations + 1, false},
		{"many blocks", 64 * 32, maxIterations / 32, false},
		{"many bytes", maxDerived + 1, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := derivePBKDF2("SHA-256", []byte("p"), c.length, []byte("s"), c.iterations)
			if (err == nil) != c.ok || (c.ok && len(out) != c.length) {
				t.Errorf("got %d bytes, %v; want ok %v", len(out), err, c.ok)
			}
		})
	}
}

func TestGeneratedKeysSurviveEveryFormat(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"RSA", "P-256", "P-384", "P-521", "Ed25519", "X25519"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pair, err := callCrypto(t, opCryptoGenerate, op.String(kind), op.Int(1024), op.Bytes([]byte{1, 0, 1}))
			if err != nil {
				t.Fatal(err)
			}
			for i, der := range pair.Elements() {
				private := i == 0
				formats := []string{"jwk", "spki", "raw"}
				switch {
				case private:
					formats = []string{"jwk", "pkcs8"}
				case kind == "RSA":
					formats = formats[:2]
				}
				for _, format := range formats {
					data := der
					if format == "jwk" || format == "raw" {
						if data, err = callCrypto(t, opCryptoExport, op.String(format), op.Bool(private), der); err != nil {
							t.Fatalf("export %s: %v", format, err)
						}
					}
					got, err := callCrypto(t, opCryptoImport, op.String(kind), op.String(format), data)
					if err != nil {
						t.Fatalf("import %s: %v", format, err)
					}
					parts := got.Elements()
					if !bytes.Equal(parts[0].Raw(), der.Raw()) || parts[1].Truth() != private {
						t.Errorf("%s: the key is not the same", format)
					}
					if kind == "RSA" && (parts[2].Int() != 1024 || !bytes.Equal(parts[3].Raw(), []byte{1, 0, 1})) {
						t.Errorf("%s: modulus of %d bits, exponent %x", format, parts[2].Int(), parts[3].Raw())
					}
					other := "P-256"
					if kind == other {
						other = "Ed25519"
					}
					if _, err := callCrypto(t, opCryptoImport, op.String(other), op.String(format), data); err == nil {
						t.Errorf("%s: read as %s, too", format, other)
					}
				}
			}
		})
	}
}

func FuzzImport(f *testing.F) {
	f.Add("spki", []byte("0"))
	f.Add("pkcs8", []byte("0\x820"))
	f.Add("raw", append([]byte{4}, make([]byte, 64)...))
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		for _, kind := range []string{"RSA", "P-256", "P-521", "Ed25519", "X25519"} {
			key, err := parse(kind, format, data, nil)
			if err != nil {
				continue
			}
			if _, _, err := marshal(key); err != nil {
				t.Errorf("%s %s: %x was read, but not written: %v", kind, format, data, err)
			}
		}
	})
}
