package webapi

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"math/big"

	"github.com/edge-runtime/edge/isolate/op"
)

// opCryptoSign gives the signature that (algorithm, hash, key, data, salt
// length) makes. key is raw for HMAC, else PKCS #8.
func opCryptoSign(c *op.Call) error {
	algorithm := c.Text(0)
	return compute(c, isRSA(algorithm), func(a *cryptoArgs) (op.Value, error) {
		signature, err := sign(algorithm, a.text(1), a.bytes[2], a.bytes[3], a.int(4))
		return op.Bytes(signature), err
	})
}

// opCryptoVerify reports whether a signature is right: (algorithm, hash, key,
// data, salt length, signature). key is raw for HMAC, else SPKI.
func opCryptoVerify(c *op.Call) error {
	algorithm := c.Text(0)
	return compute(c, false, func(a *cryptoArgs) (op.Value, error) {
		ok, err := verify(algorithm, a.text(1), a.bytes[2], a.bytes[3], a.int(4), a.bytes[5])
		return op.Bool(ok), err
	})
}

func isRSA(algorithm string) bool {
	return algorithm == "RSASSA-PKCS1-v1_5" || algorithm == "RSA-PSS" || algorithm == "RSA-OAEP"
}

func sign(algorithm, hashName string, key, data []byte, saltLength int) ([]byte, error) {
	switch algorithm {
	case "HMAC":
		return macOf(hashName, key, data)
	case "Ed25519":
		private, err := privateKey[ed25519.PrivateKey](key)
		if err != nil {
			return nil, err
		}
		return ed25519.Sign(private, data), nil
	case "ECDSA":
		private, err := privateKey[*ecdsa.PrivateKey](key)
		if err != nil {
			return nil, err
		}
		return signECDSA(private, hashName, data)
	}
	id, newHash, err := hashOf(hashName)
	if err != nil {
		return nil, err
	}
	private, err := privateKey[*rsa.PrivateKey](key)
	if err != nil {
		return nil, err
	}
	h := newHash()
	h.Write(data)
	var signature []byte
	if algorithm == "RSA-PSS" {
		// The library takes 0 for "as long as possible".
		if saltLength == 0 {
			signature, err = signEmptySalt(private, id, h.Sum(nil))
		} else {
			signature, err = rsa.SignPSS(rand.Reader, private, id, h.Sum(nil), &rsa.PSSOptions{SaltLength: saltLength})
		}
	} else {
		signature, err = rsa.SignPKCS1v15(nil, private, id, h.Sum(nil))
	}
	if err != nil {
		return nil, operationError("The signature could not be made")
	}
	return signature, nil
}

func verify(algorithm, hashName string, key, data []byte, saltLength int, signature []byte) (bool, error) {
	switch algorithm {
	case "HMAC":
		mac, err := macOf(hashName, key, data)
		return hmac.Equal(mac, signature), err
	case "Ed25519":
		public, err := publicKey[ed25519.PublicKey](key)
		if err != nil {
			return false, err
		}
		return ed25519.Verify(public, data, signature), nil
	case "ECDSA":
		public, err := publicKey[*ecdsa.PublicKey](key)
		if err != nil {
			return false, err
		}
		return verifyECDSA(public, hashName, data, signature)
	}
	id, newHash, err := hashOf(hashName)
	if err != nil {
		return false, err
	}
	public, err := publicKey[*rsa.PublicKey](key)
	if err != nil {
		return false, err
	}
	h := newHash()
	h.Write(data)
	if algorithm == "RSA-PSS" {
		return verifyPSS(public, id, h.Sum(nil), saltLength, signature), nil
	}
	return rsa.VerifyPKCS1v15(public, id, h.Sum(nil), signature) == nil, nil
}

// signECDSA returns r and s, each as long as the order of the curve's group.
func signECDSA(key *ecdsa.PrivateKey, hashName string, data []byte) ([]byte, error) {
	_, newHash, err := hashOf(hashName)
	if err != nil {
		return nil, err
	}
	h := newHash()
	h.Write(data)
	r, s, err := ecdsa.Sign(rand.Reader, key, h.Sum(nil))
	if err != nil {
		return nil, operationError("The signature could not be made")
	}
	size := orderSize(&key.PublicKey)
	signature := make([]byte, 2*size)
	r.FillBytes(signature[:size])
	s.FillBytes(signature[size:])
	return signature, nil
}

func verifyECDSA(key *ecdsa.PublicKey, hashName string, data, signature []byte) (bool, error) {
	_, newHash, err := hashOf(hashName)
	if err != nil {
		return false, err
	}
	size := orderSize(key)
	if len(signature) != 2*size {
		return false, nil
	}
	h := newHash()
	h.Write(data)
	r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
	return ecdsa.Verify(key, h.Sum(nil), r, s), nil
}

func orderSize(key *ecdsa.PublicKey) int { return (key.Params().N.BitLen() + 7) / 8 }

// privateKey parses a PKCS #8 key of ours.
func privateKey[T any](der []byte) (T, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	key, ok := parsed.(T)
	if err != nil || !ok {
		return key, operationError("The private key cannot be used")
	}
	return key, nil
}

// publicKey parses an SPKI key of ours.
func publicKey[T any](der []byte) (T, error) {
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(T)
	if err != nil || !ok {
		return key, operationError("The public key cannot be used")
	}
	return key, nil
}
