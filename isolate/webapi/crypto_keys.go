package webapi

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"math/big"

	"github.com/edge-runtime/edge/isolate/op"
)

// Key pairs are kept by JavaScript as DER: private ones as PKCS #8, public ones
// as SPKI. A kind is "RSA", a curve of ECDSA and ECDH ("P-256"...), "Ed25519"
// or "X25519".

var curves = map[string]struct {
	curve elliptic.Curve
	oid   asn1.ObjectIdentifier
}{
	"P-256": {elliptic.P256(), asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7}},
	"P-384": {elliptic.P384(), asn1.ObjectIdentifier{1, 3, 132, 0, 34}},
	"P-521": {elliptic.P521(), asn1.ObjectIdentifier{1, 3, 132, 0, 35}},
}

// maxRSABits bounds the RSA keys that are made and used: the time grows with
// the third power, and nothing can interrupt it.
const (
	minRSABits = 1024
	maxRSABits = 8192
	maxRSAMade = 4096
)

// opCryptoGenerate makes a pair of (kind, modulus length, public exponent) and
// gives [private, public].
func opCryptoGenerate(c *op.Call) error {
	kind := c.Text(0)
	return compute(c, kind == "RSA", func(a *cryptoArgs) (op.Value, error) {
		private, err := generate(kind, a)
		if err != nil {
			return op.Undefined, err
		}
		pkcs8, _, err := marshal(private)
		if err != nil {
			return op.Undefined, err
		}
		spki, _, err := marshal(publicOf(private))
		if err != nil {
			return op.Undefined, err
		}
		return op.List(op.Bytes(pkcs8), op.Bytes(spki)), nil
	})
}

func generate(kind string, a *cryptoArgs) (private any, err error) {
	switch kind {
	case "RSA":
		bits, e := a.int(1), new(big.Int).SetBytes(a.bytes[2])
		if bits < minRSABits || bits > maxRSAMade || bits%8 != 0 || e.Cmp(big.NewInt(65537)) != 0 {
			return nil, operationError("RSA keys are made with %d to %d bits and the public exponent 65537", minRSABits, maxRSAMade)
		}
		private, err = rsa.GenerateKey(rand.Reader, bits)
	case "Ed25519":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case "X25519":
		private, err = ecdh.X25519().GenerateKey(rand.Reader)
	default:
		c, ok := curves[kind]
		if !ok {
			return nil, notSupported("The curve %q is not supported", kind)
		}
		private, err = ecdsa.GenerateKey(c.curve, rand.Reader)
	}
	if err != nil {
		return nil, operationError("The key could not be made")
	}
	return private, nil
}

func publicOf(private any) any {
	switch k := private.(type) {
	case *rsa.PrivateKey:
		return &k.PublicKey
	case *ecdsa.PrivateKey:
		return &k.PublicKey
	case ed25519.PrivateKey:
		return k.Public()
	case *ecdh.PrivateKey:
		return k.PublicKey()
	}
	return nil
}

// marshal gives the DER of a key and whether it is a private one.
func marshal(key any) (der []byte, private bool, err error) {
	if publicOf(key) != nil {
		der, err = x509.MarshalPKCS8PrivateKey(key)
		private = true
	} else {
		der, err = x509.MarshalPKIXPublicKey(key)
	}
	if err != nil {
		return nil, false, dataError("The key data is not valid")
	}
	return der, private, nil
}

// opCryptoImport reads a key of (kind, format, data). data is bytes, or for
// "jwk" the list of members that jwkMembers names. It gives [der, whether it is
// private, modulus length, public exponent]; the last two for RSA only.
func opCryptoImport(c *op.Call) error {
	return compute(c, false, func(a *cryptoArgs) (op.Value, error) {
		kind, format := a.text(0), a.text(1)
		key, err := parse(kind, format, a.bytes[2], a.values[2].Elements())
		if err != nil {
			return op.Undefined, err
		}
		der, private, err := marshal(key)
		if err != nil {
			return op.Undefined, err
		}
		var modulus int64
		var exponent []byte
		if public := rsaPublic(key); public != nil {
			modulus, exponent = int64(public.N.BitLen()), big.NewInt(int64(public.E)).Bytes()
		}
		return op.List(op.Bytes(der), op.Bool(private), op.Int(modulus), op.Bytes(exponent)), nil
	})
}

func rsaPublic(key any) *rsa.PublicKey {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k
	case *rsa.PrivateKey:
		return &k.PublicKey
	}
	return nil
}

// parse reads a key in any format and checks that it is of the kind.
func parse(kind, format string, data []byte, members []op.Value) (any, error) {
	var key any
	var err error
	switch format {
	case "pkcs8":
		key, err = x509.ParsePKCS8PrivateKey(data)
	case "spki":
		if key, err = x509.ParsePKIXPublicKey(data); err != nil {
			key, err = parseCompressedSPKI(kind, data)
		}
	case "raw":
		key, err = parseRaw(kind, data)
	case "jwk":
		key, err = parseJWK(kind, members)
	default:
		return nil, notSupported("The format %q is not supported", format)
	}
	if err != nil || kindOf(key) != kind {
		return nil, dataError("The key data is not valid")
	}
	if public := rsaPublic(key); public != nil && public.N.BitLen() > maxRSABits {
		return nil, dataError("RSA keys may have up to %d bits", maxRSABits)
	}
	return key, nil
}

// kindOf returns the kind of a parsed key, "" for one that is of none.
func kindOf(key any) string {
	switch k := key.(type) {
	case *rsa.PrivateKey, *rsa.PublicKey:
		return "RSA"
	case *ecdsa.PrivateKey:
		return k.Params().Name
	case *ecdsa.PublicKey:
		return k.Params().Name
	case ed25519.PrivateKey, ed25519.PublicKey:
		return "Ed25519"
	case *ecdh.PrivateKey, *ecdh.PublicKey:
		return "X25519"
	}
	return ""
}

// parseRaw reads a public key: a point that is not compressed, or 32 bytes.
func parseRaw(kind string, data []byte) (any, error) {
	switch kind {
	case "Ed25519":
		if len(data) != ed25519.PublicKeySize {
			return nil, dataError("The key data is not valid")
		}
		return ed25519.PublicKey(data), nil
	case "X25519":
		return ecdh.X25519().NewPublicKey(data)
	}
	c, ok := curves[kind]
	if !ok {
		return nil, notSupported("The curve %q is not supported", kind)
	}
	return parsePoint(c.curve, data)
}

// parsePoint reads a point in either form.
func parsePoint(curve elliptic.Curve, data []byte) (*ecdsa.PublicKey, error) {
	if len(data) > 0 && (data[0] == 2 || data[0] == 3) {
		x, y := elliptic.UnmarshalCompressed(curve, data)
		if x == nil {
			return nil, dataError("The key data is not valid")
		}
		size := (curve.Params().BitSize + 7) / 8
		data = make([]byte, 1+2*size)
		data[0] = 4
		x.FillBytes(data[1 : 1+size])
		y.FillBytes(data[1+size:])
	}
	return ecdsa.ParseUncompressedPublicKey(curve, data)
}

var oidECPublicKey = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}

// parseCompressedSPKI reads what the library does not: an elliptic curve key
// whose point is compressed.
func parseCompressedSPKI(kind string, data []byte) (*ecdsa.PublicKey, error) {
	var spki struct {
		Algorithm struct {
			Algorithm  asn1.ObjectIdentifier
			NamedCurve asn1.ObjectIdentifier
		}
		PublicKey asn1.BitString
	}
	c, ok := curves[kind]
	rest, err := asn1.Unmarshal(data, &spki)
	if err != nil || !ok || len(rest) > 0 || !spki.Algorithm.Algorithm.Equal(oidECPublicKey) || !spki.Algorithm.NamedCurve.Equal(c.oid) {
		return nil, dataError("The key data is not valid")
	}
	return parsePoint(c.curve, spki.PublicKey.RightAlign())
}

// jwkMembers are the members of a JSON Web Key in the order in which they cross,
// as base64url text. https://www.rfc-editor.org/rfc/rfc7518#section-6
var jwkMembers = map[string][]string{
	"RSA":     {"n", "e", "d", "p", "q", "dp", "dq", "qi"},
	"EC":      {"x", "y", "d"},
	"Ed25519": {"x", "d"},
	"X25519":  {"x", "d"},
}

// jwkField decodes one member; nil when it is absent.
func jwkField(members []op.Value, i int) ([]byte, error) {
	if i >= len(members) || !members[i].IsString() {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(members[i].Text())
	if err != nil {
		return nil, err
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

func parseJWK(kind string, members []op.Value) (any, error) {
	fields := make([][]byte, len(members))
	for i := range members {
		var err error
		if fields[i], err = jwkField(members, i); err != nil {
			return nil, err
		}
	}
	field := func(i int) []byte {
		if i < len(fields) {
			return fields[i]
		}
		return nil
	}
	switch kind {
	case "RSA":
		return parseRSAJWK(fields, field)
	case "Ed25519", "X25519":
		return parseOKPJWK(kind, field(0), field(1))
	}
	return parseECJWK(kind, field(0), field(1), field(2))
}

func parseRSAJWK(fields [][]byte, field func(int) []byte) (any, error) {
	number := func(i int) *big.Int { return new(big.Int).SetBytes(field(i)) }
	e := number(1)
	if field(0) == nil || field(1) == nil || e.BitLen() > 31 {
		return nil, dataError("The key data is not valid")
	}
	public := rsa.PublicKey{N: number(0), E: int(e.Int64())}
	if field(2) == nil {
		return &public, nil
	}
	for i := 3; i < len(jwkMembers["RSA"]); i++ {
		if field(i) == nil {
			return nil, dataError("A private RSA key needs d, p, q, dp, dq and qi")
		}
	}
	key := &rsa.PrivateKey{PublicKey: public, D: number(2), Primes: []*big.Int{number(3), number(4)}}
	if err := key.Validate(); err != nil {
		return nil, err
	}
	key.Precompute()
	return key, nil
}

func parseECJWK(kind string, x, y, d []byte) (any, error) {
	c, ok := curves[kind]
	if !ok {
		return nil, notSupported("The curve %q is not supported", kind)
	}
	size := (c.curve.Params().BitSize + 7) / 8
	if len(x) != size || len(y) != size {
		return nil, dataError("The key data is not valid")
	}
	point := append(append([]byte{4}, x...), y...)
	public, err := ecdsa.ParseUncompressedPublicKey(c.curve, point)
	if err != nil || d == nil {
		return public, err
	}
	if len(d) != size {
		return nil, dataError("The key data is not valid")
	}
	private, err := ecdsa.ParseRawPrivateKey(c.curve, d)
	if err != nil || !private.PublicKey.Equal(public) {
		return nil, dataError("The key data is not valid")
	}
	return private, nil
}

func parseOKPJWK(kind string, x, d []byte) (any, error) {
	if len(x) != 32 || (d != nil && len(d) != 32) {
		return nil, dataError("The key data is not valid")
	}
	if kind == "X25519" {
		public, err := ecdh.X25519().NewPublicKey(x)
		if err != nil || d == nil {
			return public, err
		}
		private, err := ecdh.X25519().NewPrivateKey(d)
		if err != nil || !private.PublicKey().Equal(public) {
			return nil, dataError("The key data is not valid")
		}
		return private, nil
	}
	public := ed25519.PublicKey(x)
	if d == nil {
		return public, nil
	}
	private := ed25519.NewKeyFromSeed(d)
	if !public.Equal(private.Public()) {
		return nil, dataError("The key data is not valid")
	}
	return private, nil
}

// opCryptoExport gives a key of (format, whether it is private, der) as bytes
// for "raw", as a list by jwkMembers for "jwk". The other formats are the DER.
func opCryptoExport(c *op.Call) error {
	return compute(c, false, func(a *cryptoArgs) (op.Value, error) {
		var key any
		var err error
		if a.truth(1) {
			key, err = x509.ParsePKCS8PrivateKey(a.bytes[2])
		} else {
			key, err = x509.ParsePKIXPublicKey(a.bytes[2])
		}
		if err != nil {
			return op.Undefined, operationError("The key cannot be exported")
		}
		if a.text(0) == "raw" {
			raw, err := exportRaw(key)
			return op.Bytes(raw), err
		}
		fields, err := exportJWK(key)
		values := make([]op.Value, len(fields))
		for i, f := range fields {
			values[i] = op.String(base64.RawURLEncoding.EncodeToString(f))
		}
		return op.List(values...), err
	})
}

func exportRaw(key any) ([]byte, error) {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return k.Bytes()
	case ed25519.PublicKey:
		return k, nil
	case *ecdh.PublicKey:
		return k.Bytes(), nil
	}
	return nil, operationError("The key cannot be exported")
}

func exportJWK(key any) ([][]byte, error) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return [][]byte{k.N.Bytes(), big.NewInt(int64(k.E)).Bytes()}, nil
	case *rsa.PrivateKey:
		if len(k.Primes) != 2 {
			return nil, operationError("The key cannot be exported")
		}
		k.Precompute()
		return [][]byte{
			k.N.Bytes(), big.NewInt(int64(k.E)).Bytes(), k.D.Bytes(), k.Primes[0].Bytes(), k.Primes[1].Bytes(),
			k.Precomputed.Dp.Bytes(), k.Precomputed.Dq.Bytes(), k.Precomputed.Qinv.Bytes(),
		}, nil
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			return nil, operationError("The key cannot be exported")
		}
		half := (len(point) - 1) / 2
		return [][]byte{point[1 : 1+half], point[1+half:]}, nil
	case *ecdsa.PrivateKey:
		fields, err := exportJWK(&k.PublicKey)
		if err != nil {
			return nil, err
		}
		d, err := k.Bytes()
		if err != nil {
			return nil, operationError("The key cannot be exported")
		}
		return append(fields, d), nil
	case ed25519.PublicKey:
		return [][]byte{k}, nil
	case ed25519.PrivateKey:
		return [][]byte{k.Public().(ed25519.PublicKey), k.Seed()}, nil
	case *ecdh.PublicKey:
		return [][]byte{k.Bytes()}, nil
	case *ecdh.PrivateKey:
		return [][]byte{k.PublicKey().Bytes(), k.Bytes()}, nil
	}
	return nil, operationError("The key cannot be exported")
}
