package etcd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"

	"go.etcd.io/bbolt"
)

// pack returns a database with the buckets of etcd. content is the value of the only key, at a revision.
func pack(content []byte, revision int) (data []byte, err error) {
	err = withFile(nil, func(name string) error {
		db, err := bbolt.Open(name, 0o600, &bbolt.Options{NoSync: true})
		if err != nil {
			return err
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			_, err1 := tx.CreateBucket([]byte("meta"))
			_, err2 := tx.CreateBucket([]byte("members"))
			keys, err3 := tx.CreateBucket(keyBucket)
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			return keys.Put(binary.BigEndian.AppendUint64(nil, uint64(max(1, revision))), content)
		})
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
		data, err = os.ReadFile(name) //nolint:gosec // made by withFile
		return err
	})
	return data, err
}

var keyBucket = []byte("key")

// unpack returns the content of a database.
func unpack(data []byte) (content []byte, err error) {
	err = withFile(data, func(name string) error {
		db, err := bbolt.Open(name, 0o600, &bbolt.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		return errors.Join(db.View(func(tx *bbolt.Tx) error {
			keys := tx.Bucket(keyBucket)
			if keys == nil {
				return errors.New("the database has no keys")
			}
			_, value := keys.Cursor().Last()
			content = bytes.Clone(value)
			return nil
		}), db.Close())
	})
	return content, err
}

// withFile calls fn with the name of a file that has these data.
func withFile(data []byte, fn func(name string) error) error {
	file, err := os.CreateTemp("", "kubesim-etcd-*.db")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // a temporary file
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return fn(file.Name())
}
