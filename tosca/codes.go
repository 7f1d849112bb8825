package tosca

// Codes of problems. They are stable: a program may store and compare them.
const (
	// The archive.

	// CodeNotPackage: the file is no zip archive, or is one that holds a package
	// instead of being one.
	CodeNotPackage = "not-a-package"
	// CodeZipSlip: the name of a member leads out of the package.
	CodeZipSlip = "zip-slip"
	// CodeBadName: the name of a member is no plain relative path.
	CodeBadName = "bad-name"
	// CodeSymlink: a member is a symbolic link that is not allowed.
	CodeSymlink = "symlink"
	// CodeIrregular: a member is neither file nor folder: a device, a pipe.
	CodeIrregular = "irregular-file"
	// CodeDuplicateMember: two members have the same name, or one is the folder
	// of the other.
	CodeDuplicateMember = "duplicate-member"
	// CodeUnreadable: a member is encrypted, compressed in an unknown way or
	// cannot be read.
	CodeUnreadable = "unreadable"
	// CodeTooLarge: a limit is exceeded.
	CodeTooLarge = "too-large"

	// TOSCA.meta.

	// CodeMeta: a line of TOSCA.meta is not of the form "key: value".
	CodeMeta = "bad-meta"
	// CodeMissingEntry: there are no entry definitions.
	CodeMissingEntry = "missing-entry-definitions"
	// CodeMissingFile: a file that is named is not in the package. A warning for
	// the files of drivers.
	CodeMissingFile = "missing-file"
	// CodeHashMismatch: the content of a file has another digest than stated.
	CodeHashMismatch = "hash-mismatch"
	// CodeHashAlgorithm: a digest is stated in an unknown algorithm.
	CodeHashAlgorithm = "unknown-hash-algorithm"
	// CodeOutsidePackage: a path leads out of the package.
	CodeOutsidePackage = "outside-package"

	// YAML and TOSCA.

	// CodeYAML: the file is no YAML that could be a service template.
	CodeYAML = "bad-yaml"
	// CodeTooDeep: a YAML document is nested too deeply.
	CodeTooDeep = "too-deep"
	// CodeDuplicateKey: a mapping has a key twice.
	CodeDuplicateKey = "duplicate-key"
	// CodeVersion: tosca_definitions_version is missing or not supported.
	CodeVersion = "tosca-version"
	// CodeImportOutside: an import leads out of the package.
	CodeImportOutside = "import-outside-package"
	// CodeImportMissing: an imported file is not in the package.
	CodeImportMissing = "import-missing"
	// CodeImportRemote: an import wants the network.
	CodeImportRemote = "import-remote"
	// CodeTypeCycle: a type is derived from itself.
	CodeTypeCycle = "type-cycle"
	// CodeType: a value is of another kind than SOL001 wants.
	CodeType = "wrong-type"
	// CodeValue: a value is none of those its type allows.
	CodeValue = "value-not-allowed"
	// CodeNegative: a number that counts or measures is negative.
	CodeNegative = "negative-number"

	// The VNFD.

	// CodeNotVNFD: there is no node whose type is derived from
	// tosca.nodes.nfv.VNF: the package may describe a network service or a PNF.
	CodeNotVNFD = "not-a-vnfd"
	// CodeMissingProperty: a property that SOL001 requires is not there.
	CodeMissingProperty = "missing-property"
	// CodeFlavourID: flavours have no or the same flavour_id.
	CodeFlavourID = "flavour-id"
	// CodeUnknownNode: a node template, or group, that is named does not exist.
	// A warning in the substitution mappings.
	CodeUnknownNode = "unknown-node"
	// CodeUnknownAspect: a scaling aspect that is named does not exist.
	CodeUnknownAspect = "unknown-aspect"
	// CodeUnknownDelta: a delta named by a step does not exist. A warning.
	CodeUnknownDelta = "unknown-delta"
	// CodeUnknownLevel: an instantiation level that is named does not exist.
	CodeUnknownLevel = "unknown-level"
	// CodeDefaultLevel: the default level does not exist or, as a warning, there
	// are several levels and none is the default.
	CodeDefaultLevel = "default-level"
	// CodeLevelAboveMax: a scale level is above the maximum of its aspect.
	CodeLevelAboveMax = "level-above-max"
	// CodeLevelMismatch: an instantiation level gives another number of
	// instances than its scale levels do. A warning.
	CodeLevelMismatch = "level-mismatch"
	// CodeOutsideProfile: a number of instances lies outside the VDU profile. A warning.
	CodeOutsideProfile = "outside-vdu-profile"
	// CodeUnknownDriver: a hook names a driver that is no artifact of its node.
	CodeUnknownDriver = "unknown-driver"
	// CodeMisplaced: something stands where SOL001 does not want it, and is read
	// nevertheless. A warning.
	CodeMisplaced = "misplaced"
)
