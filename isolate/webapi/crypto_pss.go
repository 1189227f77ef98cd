package webapi

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"math/big"
)

// RSASSA-PSS with an empty salt, which the library cannot be asked for: 0 means
// "any length" there.

// verifyPSS reports whether a PSS signature with a salt of exactly saltLength
// bytes is right.
func verifyPSS(key *rsa.PublicKey, id crypto.Hash, digest []byte, saltLength int, signature []byte) bool {
	if saltLength > 0 {
		return rsa.VerifyPSS(key, id, digest, signature, &rsa.PSSOptions{SaltLength: saltLength}) == nil
	}
	if len(signature) != key.Size() {
		return false
	}
	s := new(big.Int).SetBytes(signature)
	if s.Cmp(key.N) >= 0 {
		return false
	}
	want, ok := encodeEmptySalt(key, id, digest)
	return ok && s.Exp(s, big.NewInt(int64(key.E)), key.N).Cmp(new(big.Int).SetBytes(want)) == 0
}

// signEmptySalt makes a PSS signature with an empty salt. The private operation
// is blinded, since math/big is not constant in time.
func signEmptySalt(key *rsa.PrivateKey, id crypto.Hash, digest []byte) ([]byte, error) {
	encoded, ok := encodeEmptySalt(&key.PublicKey, id, digest)
	if !ok {
		return nil, rsa.ErrMessageTooLong
	}
	r, err := rand.Int(rand.Reader, key.N)
	if err != nil {
		return nil, err
	}
	inverse := new(big.Int).ModInverse(r, key.N)
	if inverse == nil {
		return nil, rsa.ErrDecryption
	}
	m := new(big.Int).Exp(r, big.NewInt(int64(key.E)), key.N)
	m.Mul(m, new(big.Int).SetBytes(encoded))
	m.Exp(m.Mod(m, key.N), key.D, key.N)
	m.Mul(m, inverse)
	m.Mod(m, key.N)
	return m.FillBytes(make([]byte, key.Size())), nil
}

// encodeEmptySalt is EMSA-PSS-ENCODE of RFC 8017, 9.1.1, with an empty salt.
// The result is as long as an integer below the modulus needs; false means that
// the modulus is too short.
func encodeEmptySalt(key *rsa.PublicKey, id crypto.Hash, digest []byte) ([]byte, bool) {
	bits := key.N.BitLen() - 1
	size := (bits + 7) / 8
	split := size - id.Size() - 1
	if split < 1 {
		return nil, false
	}
	h := id.New()
	h.Write(make([]byte, 8))
	h.Write(digest)
	out := make([]byte, size)
	db, seed := out[:split], out[split:size-1]
	h.Sum(seed[:0])
	db[split-1] = 1
	mask := make([]byte, 0, split+id.Size())
	for counter := uint32(0); len(mask) < split; counter++ {
		h.Reset()
		h.Write(seed)
		h.Write(binary.BigEndian.AppendUint32(nil, counter))
		mask = h.Sum(mask)
	}
	for i := range db {
		db[i] ^= mask[i]
	}
	db[0] &= 0xff >> (8*size - bits)
	out[size-1] = 0xbc
	return out, true
}
