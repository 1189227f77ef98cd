package webapi

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/subtle"

	"github.com/edge-runtime/edge/isolate/op"
)

const (
	// maxIterations bounds a PBKDF2 computation, which nothing can interrupt,
	// to about a second.
	maxIterations = 2_000_000
	// maxDerived bounds what PBKDF2 and HKDF give, in bytes.
	maxDerived = 1 << 20
)

// opCryptoDerive gives derived bytes. (PBKDF2, hash, secret, length, salt,
// iterations), (HKDF, hash, secret, length, salt, info), or the whole shared
// secret of (ECDH or X25519, "", private key, 0, public key).
func opCryptoDerive(c *op.Call) error {
	algorithm := c.Text(0)
	return compute(c, algorithm == "PBKDF2", func(a *cryptoArgs) (op.Value, error) {
		var out []byte
		var err error
		secret, length := a.bytes[2], a.int(3)
		switch algorithm {
		case "PBKDF2":
			out, err = derivePBKDF2(a.text(1), secret, length, a.bytes[4], a.int(5))
		case "HKDF":
			out, err = deriveHKDF(a.text(1), secret, length, a.bytes[4], a.bytes[5])
		case "ECDH", "X25519":
			out, err = agree(algorithm, secret, a.bytes[4])
		default:
			err = notSupported("The algorithm %q derives nothing", algorithm)
		}
		return op.Bytes(out), err
	})
}

// https://w3c.github.io/webcrypto/#pbkdf2-operations
func derivePBKDF2(hashName string, password []byte, length int, salt []byte, iterations int) ([]byte, error) {
	_, newHash, err := hashOf(hashName)
	if err != nil {
		return nil, err
	}
	if length == 0 {
		return nil, nil
	}
	blocks := (length + newHash().Size() - 1) / newHash().Size()
	if length > maxDerived || iterations*max(1, blocks) > maxIterations {
		return nil, notSupported("PBKDF2 is limited to %d iterations, times the blocks of the result", maxIterations)
	}
	out, err := pbkdf2.Key(newHash, string(password), salt, iterations, length)
	if err != nil {
		return nil, operationError("The bits could not be derived")
	}
	return out, nil
}

// https://w3c.github.io/webcrypto/#hkdf-operations
func deriveHKDF(hashName string, secret []byte, length int, salt, info []byte) ([]byte, error) {
	_, newHash, err := hashOf(hashName)
	if err != nil {
		return nil, err
	}
	out, err := hkdf.Key(newHash, secret, salt, string(info), length)
	if err != nil {
		return nil, operationError("The bits could not be derived")
	}
	return out, nil
}

// agree computes the shared secret of ECDH or X25519.
func agree(algorithm string, private, public []byte) ([]byte, error) {
	ours, theirs, err := agreementKeys(algorithm, private, public)
	if err != nil {
		return nil, err
	}
	secret, err := ours.ECDH(theirs)
	// All zeros come of a point of small order.
	if err != nil || subtle.ConstantTimeCompare(secret, make([]byte, len(secret))) == 1 {
		return nil, operationError("The bits could not be derived")
	}
	return secret, nil
}

func agreementKeys(algorithm string, private, public []byte) (*ecdh.PrivateKey, *ecdh.PublicKey, error) {
	if algorithm == "X25519" {
		ours, err := privateKey[*ecdh.PrivateKey](private)
		if err != nil {
			return nil, nil, err
		}
		theirs, err := publicKey[*ecdh.PublicKey](public)
		return ours, theirs, err
	}
	oursEC, err := privateKey[*ecdsa.PrivateKey](private)
	if err != nil {
		return nil, nil, err
	}
	theirsEC, err := publicKey[*ecdsa.PublicKey](public)
	if err != nil {
		return nil, nil, err
	}
	ours, err := oursEC.ECDH()
	if err != nil {
		return nil, nil, operationError("The private key cannot be used")
	}
	theirs, err := theirsEC.ECDH()
	if err != nil {
		return nil, nil, operationError("The public key cannot be used")
	}
	return ours, theirs, nil
}
