package webapi

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/binary"
	"math/big"

	"github.com/edge-runtime/edge/isolate/op"
)

// opCryptoCipher encrypts (true) or decrypts: (algorithm, encrypt, key, data,
// iv or counter or hash, tag length or counter length in bits, additional data
// or label). key is raw for AES, else SPKI or PKCS #8.
func opCryptoCipher(c *op.Call) error {
	algorithm := c.Text(0)
	return compute(c, isRSA(algorithm), func(a *cryptoArgs) (op.Value, error) {
		encrypt, key, data := a.truth(1), a.bytes[2], a.bytes[3]
		if algorithm == "RSA-OAEP" {
			out, err := cryptOAEP(encrypt, key, data, a.text(4), a.optionalBytes(6))
			return op.Bytes(out), err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return op.Undefined, operationError("The key cannot be used")
		}
		var out []byte
		switch algorithm {
		case "AES-CBC":
			out, err = cryptCBC(block, encrypt, data, a.bytes[4])
		case "AES-CTR":
			out, err = cryptCTR(block, data, a.bytes[4], a.int(5))
		case "AES-GCM":
			out, err = cryptGCM(block, encrypt, data, a.bytes[4], a.int(5)/8, a.optionalBytes(6))
		case "AES-KW":
			out, err = cryptKW(block, encrypt, data)
		default:
			err = notSupported("The cipher %q is not supported", algorithm)
		}
		return op.Bytes(out), err
	})
}

func cryptOAEP(encrypt bool, key, data []byte, hashName string, label []byte) ([]byte, error) {
	_, newHash, err := hashOf(hashName)
	if err != nil {
		return nil, err
	}
	var out []byte
	if encrypt {
		public, err := publicKey[*rsa.PublicKey](key)
		if err != nil {
			return nil, err
		}
		out, err = rsa.EncryptOAEP(newHash(), rand.Reader, public, data, label)
		if err != nil {
			return nil, operationError("The data could not be encrypted")
		}
		return out, nil
	}
	private, err := privateKey[*rsa.PrivateKey](key)
	if err != nil {
		return nil, err
	}
	if out, err = rsa.DecryptOAEP(newHash(), nil, private, data, label); err != nil {
		return nil, operationError("The data could not be decrypted")
	}
	return out, nil
}

// https://w3c.github.io/webcrypto/#aes-cbc-operations
func cryptCBC(block cipher.Block, encrypt bool, data, iv []byte) ([]byte, error) {
	if encrypt {
		pad := aes.BlockSize - len(data)%aes.BlockSize
		out := append(bytes.Clone(data), bytes.Repeat([]byte{byte(pad)}, pad)...)
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(out, out)
		return out, nil
	}
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, operationError("The data could not be decrypted")
	}
	out := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, data)
	pad := int(out[len(out)-1])
	good := subtle.ConstantTimeLessOrEq(1, pad) & subtle.ConstantTimeLessOrEq(pad, aes.BlockSize)
	for i := 1; i <= aes.BlockSize; i++ {
		inPad := subtle.ConstantTimeLessOrEq(i, pad)
		same := subtle.ConstantTimeByteEq(out[len(out)-i], byte(pad))
		good &= same | (1 - inPad)
	}
	if good != 1 {
		return nil, operationError("The data could not be decrypted")
	}
	return out[:len(out)-pad], nil
}

// cryptCTR is its own inverse. Only the last bits of the counter block count,
// and they wrap by themselves. https://w3c.github.io/webcrypto/#aes-ctr-operations
func cryptCTR(block cipher.Block, data, counter []byte, bits int) ([]byte, error) {
	blocks := big.NewInt(int64(len(data)+aes.BlockSize-1) / aes.BlockSize)
	period := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	if blocks.Cmp(period) > 0 {
		return nil, operationError("The data is too long for a counter of %d bits", bits)
	}
	start := new(big.Int).SetBytes(counter)
	low := new(big.Int).Mod(start, period)
	cut := len(data)
	if left := new(big.Int).Sub(period, low); left.Cmp(blocks) < 0 {
		cut = int(left.Int64()) * aes.BlockSize
	}
	out := make([]byte, len(data))
	cipher.NewCTR(block, counter).XORKeyStream(out[:cut], data[:cut])
	if cut < len(data) {
		wrapped := start.Sub(start, low).FillBytes(make([]byte, aes.BlockSize))
		cipher.NewCTR(block, wrapped).XORKeyStream(out[cut:], data[cut:])
	}
	return out, nil
}

// cryptGCM takes tags of any length that the standard allows, of which the
// library knows those above 11 bytes only.
// https://w3c.github.io/webcrypto/#aes-gcm-operations
func cryptGCM(block cipher.Block, encrypt bool, data, iv []byte, tagSize int, additional []byte) ([]byte, error) {
	if len(iv) == 0 {
		return nil, operationError("The initialization vector is empty")
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, len(iv))
	if err != nil {
		return nil, operationError("The initialization vector cannot be used")
	}
	full := gcm.Overhead()
	if encrypt {
		out := gcm.Seal(nil, iv, data, additional)
		return out[:len(out)-full+tagSize], nil
	}
	if len(data) < tagSize {
		return nil, operationError("The data could not be decrypted")
	}
	if tagSize == full {
		out, err := gcm.Open(nil, iv, data, additional)
		if err != nil {
			return nil, operationError("The data could not be decrypted")
		}
		return out, nil
	}
	// What zeros encrypt to is the key stream. Encrypting the result again
	// gives the whole tag.
	size := len(data) - tagSize
	out := gcm.Seal(nil, iv, make([]byte, size), nil)[:size]
	subtle.XORBytes(out, out, data)
	again := gcm.Seal(nil, iv, out, additional)
	if subtle.ConstantTimeCompare(again[:len(data)], data) != 1 {
		return nil, operationError("The data could not be decrypted")
	}
	return out, nil
}

// cryptKW wraps or unwraps a key: RFC 3394.
func cryptKW(block cipher.Block, encrypt bool, data []byte) ([]byte, error) {
	least := 16
	if !encrypt {
		least = 24
	}
	if len(data)%8 != 0 || len(data) < least {
		return nil, operationError("The length of the data is not right for AES-KW")
	}
	const initial = 0xa6a6a6a6a6a6a6a6
	var out []byte
	if encrypt {
		out = append(binary.BigEndian.AppendUint64(nil, initial), data...)
	} else {
		out = bytes.Clone(data)
	}
	n := len(out)/8 - 1
	var b [aes.BlockSize]byte
	for step := range 6 * n {
		if encrypt {
			t, r := uint64(step+1), out[8*(step%n+1):][:8]
			copy(b[:8], out)
			copy(b[8:], r)
			block.Encrypt(b[:], b[:])
			binary.BigEndian.PutUint64(out, binary.BigEndian.Uint64(b[:])^t)
			copy(r, b[8:])
			continue
		}
		t := uint64(6*n - step)
		r := out[8*((int(t)-1)%n+1):][:8]
		binary.BigEndian.PutUint64(b[:], binary.BigEndian.Uint64(out)^t)
		copy(b[8:], r)
		block.Decrypt(b[:], b[:])
		copy(out, b[:8])
		copy(r, b[8:])
	}
	if encrypt {
		return out, nil
	}
	if subtle.ConstantTimeCompare(out[:8], binary.BigEndian.AppendUint64(nil, initial)) != 1 {
		return nil, operationError("The key could not be unwrapped")
	}
	return out[8:], nil
}
