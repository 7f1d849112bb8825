package inventory

// Encrypt and Decrypt with another number of PBKDF2's iterations.
var (
	EncryptIterated = encrypt
	DecryptIterated = decrypt
)
