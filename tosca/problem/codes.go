package problem

// The kinds of problems.
const (
	// The archive.

	// NotPackage: the file is not a zip archive, or is an archive that contains a package instead of being one.
	NotPackage Code = "csar.not-a-package"
	// ZipSlip: the name of a member leads out of the package.
	ZipSlip Code = "csar.zip-slip"
	// ExtraData: there is data before the first member of the archive, or after
	// its end.
	ExtraData Code = "csar.extra-data"
	// BadName: the name of a member is no plain relative path, or has characters
	// that change how it is displayed. A warning for names that begin with "./".
	BadName Code = "csar.bad-name"
	// ReservedName: the name of a member stands for a device or another file on
	// Windows. A warning.
	ReservedName Code = "csar.reserved-name"
	// Symlink: a member is a symbolic link that is not allowed.
	Symlink Code = "csar.symlink"
	// Irregular: a member is neither file nor folder: a device, a pipe.
	Irregular Code = "csar.irregular-file"
	// DuplicateMember: two members have the same name, or one is the folder
	// of the other.
	DuplicateMember Code = "csar.duplicate-member"
	// CaseCollision: two members have names that differ only in case.
	CaseCollision Code = "csar.case-collision"
	// Unreadable: a member is encrypted, compressed in an unknown way or
	// cannot be read.
	Unreadable Code = "csar.unreadable"
	// TooLarge: a limit is exceeded.
	TooLarge Code = "csar.too-large"

	// TOSCA.meta.

	// Meta: a line of TOSCA.meta is not of the form "key: value".
	Meta Code = "csar.meta"
	// MissingMetaKey: TOSCA.meta has some of the keys of SOL004 and lacks another
	// that SOL004 wants. A warning.
	MissingMetaKey Code = "csar.missing-meta-key"
	// MetaValue: TOSCA.meta has an unknown key of SOL004, or a version that TOSCA does not define. A warning.
	MetaValue Code = "csar.meta-value"
	// MisnamedFile: a file has another name than SOL004 prescribes: TOSCA.meta, the manifest, the change log or the certificate. A
	// warning.
	MisnamedFile Code = "csar.misnamed-file"
	// MissingEntry: there are no entry definitions.
	MissingEntry Code = "csar.missing-entry-definitions"
	// MissingFile: a file that is named is not in the package. A warning for
	// the files of artifacts.
	MissingFile Code = "csar.missing-file"
	// HashMismatch: the content of a file has another digest than stated, or two digests are stated for a file.
	HashMismatch Code = "csar.hash-mismatch"
	// Changed: a file has another content than when it was read before.
	Changed Code = "csar.changed"
	// HashAlgorithm: a digest is stated in an unknown algorithm or, as a warning, in an algorithm whose name is written in another way
	// than IANA registered it.
	HashAlgorithm Code = "csar.unknown-hash-algorithm"
	// OutsidePackage: a path leads out of the package.
	OutsidePackage Code = "csar.outside-package"

	// The manifest and the signatures. With the policies Warn and Off they are warnings.

	// Manifest: a line of the manifest is not as SOL004 wants it.
	Manifest Code = "csar.manifest"
	// UnnamedManifest: the package has a manifest that TOSCA.meta does not name. It
	// is not read. A warning for one without a signature.
	UnnamedManifest Code = "csar.unnamed-manifest"
	// ManifestMetadata: the metadata of the manifest lacks a key or has a key that SOL004 does not define. A warning.
	ManifestMetadata Code = "csar.manifest-metadata"
	// ReleaseTime: the release time in the manifest is no date with a time as in RFC 3339. A warning.
	ReleaseTime Code = "csar.release-time"
	// MixedMetadata: the metadata of the manifest has keys of several kinds of packages: VNF packages, archives of a PNFD, packages of
	// an NSD. A warning.
	MixedMetadata Code = "csar.mixed-metadata"
	// OtherProduct: the metadata of the manifest names another product, provider, version or descriptor than the VNFD. A warning.
	OtherProduct Code = "csar.other-product"
	// NotInManifest: an unsigned manifest has digests, and states none for a member or an external file. A warning.
	NotInManifest Code = "csar.not-in-manifest"
	// Unsigned: a signature over the whole package is required, and the package has no signature.
	Unsigned Code = "csar.unsigned"
	// Unlisted: a member of a signed package is not in the manifest.
	Unlisted Code = "csar.unlisted-member"
	// NoDigest: the manifest of a signed package lists a member without digest or
	// signature, or TOSCA.meta is not listed: it could be changed unnoticed. A
	// warning unless a signature is required.
	NoDigest Code = "csar.no-digest"
	// BadCMS: a signature is no CMS that can be read.
	BadCMS Code = "csar.bad-cms"
	// BadSignature: a signature does not match its content.
	BadSignature Code = "csar.bad-signature"
	// SignatureAlgorithm: a signature is made with an algorithm that is too weak
	// or not known.
	SignatureAlgorithm Code = "csar.signature-algorithm"
	// BadCertificate: a certificate file cannot be read.
	BadCertificate Code = "csar.bad-certificate"
	// NoCertificate: the certificate of a signer is not in the package.
	NoCertificate Code = "csar.no-signer-certificate"
	// Expired: the certificate of a signer, or of who vouches for it, is not
	// valid at this time.
	Expired Code = "csar.expired-certificate"
	// Untrusted: the signature is valid, but no root certificate trusts the signer. A warning when no roots are given
	// and no signature is required.
	Untrusted Code = "csar.untrusted-signer"

	// YAML and TOSCA.

	// YAML: the file is no YAML that could be a service template.
	YAML Code = "yaml.syntax"
	// BidiText: a text has characters that change the direction in which it is
	// displayed (Unicode Bidi_Control). A warning.
	BidiText Code = "yaml.bidirectional-text"
	// SecondDocument: a file has several YAML documents, of which only the first
	// would be read. A warning where the second one is empty.
	SecondDocument Code = "yaml.second-document"
	// TooDeep: a YAML document is nested too deeply.
	TooDeep Code = "yaml.too-deep"
	// DuplicateKey: a mapping has a key twice.
	DuplicateKey Code = "yaml.duplicate-key"
	// Version: tosca_definitions_version is missing or not supported.
	Version Code = "tosca.version"
	// ImportOutside: an import leads out of the package.
	ImportOutside Code = "tosca.import-outside-package"
	// ImportMissing: an imported file is not in the package.
	ImportMissing Code = "tosca.import-missing"
	// ImportRemote: an import wants the network.
	ImportRemote Code = "tosca.import-remote"
	// ImportCycle: files import each other. A warning.
	ImportCycle Code = "tosca.import-cycle"
	// TypeCycle: a type is derived from itself.
	TypeCycle Code = "tosca.type-cycle"
	// Type: a value is of another kind than SOL001 wants.
	Type Code = "tosca.wrong-type"
	// Value: the type does not allow this value.
	Value Code = "tosca.value-not-allowed"
	// Negative: a number that counts or measures is negative.
	Negative Code = "tosca.negative-number"
	// UnknownKeyname: the grammar of TOSCA does not allow this key here.
	UnknownKeyname Code = "tosca.unknown-keyname"
	// MissingKeyname: a key that the grammar of TOSCA requires is not there.
	MissingKeyname Code = "tosca.missing-keyname"
	// UnknownType: a type that is named is not defined.
	UnknownType Code = "tosca.unknown-type"
	// UnknownProperty: the type does not define this property.
	UnknownProperty Code = "tosca.unknown-property"
	// RequiredProperty: a property that the type requires is not there.
	RequiredProperty Code = "tosca.missing-property"
	// UnknownAttribute: the type does not define this attribute.
	UnknownAttribute Code = "tosca.unknown-attribute"
	// UnknownCapability: the type does not define this capability.
	UnknownCapability Code = "tosca.unknown-capability"
	// UnknownRequirement: the type does not define this requirement.
	UnknownRequirement Code = "tosca.unknown-requirement"
	// UnknownInterface: the type does not define this interface.
	UnknownInterface Code = "tosca.unknown-interface"
	// UnknownOperation: the interface does not define this operation.
	UnknownOperation Code = "tosca.unknown-operation"
	// UnknownRelationship: a requirement names a relationship that is neither a template nor a type.
	UnknownRelationship Code = "tosca.unknown-relationship"
	// UnknownWorkflow: an activity names a workflow that the topology does not have.
	UnknownWorkflow Code = "tosca.unknown-workflow"
	// UnknownStep: a step of a workflow names a step that the workflow does not have.
	UnknownStep Code = "tosca.unknown-step"
	// UnknownInput: the topology has no input of that name.
	UnknownInput Code = "tosca.unknown-input"
	// WrongTarget: a template is of a type that may not be the target of a
	// requirement or a policy, or the member of a group.
	WrongTarget Code = "tosca.wrong-target"
	// Occurrences: something is there more often than its type allows.
	Occurrences Code = "tosca.occurrences"
	// UnfilledRequirement: a node type of SOL001 demands a requirement that neither the template nor another part
	// of the topology fills. A warning.
	UnfilledRequirement Code = "tosca.unfilled-requirement"
	// Function: a function has the wrong arguments.
	Function Code = "tosca.function"

	// The VNFD.

	// NotVNFD: no node has a type derived from tosca.nodes.nfv.VNF, or there are several VNFs or a network service: the
	// package may describe a network service or a PNF. A warning with tosca.AnyDescriptor.
	NotVNFD Code = "vnfd.not-a-vnfd"
	// OtherDescriptor: the package should describe a network service or a PNF (tosca.Describing), and no node has its type.
	OtherDescriptor Code = "tosca.other-descriptor"
	// MissingProperty: a property that SOL001 requires is not there.
	MissingProperty Code = "vnfd.missing-property"
	// FlavourID: flavours have no or the same flavour_id.
	FlavourID Code = "vnfd.flavour-id"
	// UnknownNode: a node template, or group, that is named does not exist.
	// A warning in the substitution mappings.
	UnknownNode Code = "vnfd.unknown-node"
	// MissingArtifact: a container that belongs to no MCIOP has no image, or an MCIOP has no chart. A warning.
	MissingArtifact Code = "vnfd.missing-artifact"
	// SeveralCharts: an MCIOP has several charts, of which one is deployed. A warning.
	SeveralCharts Code = "vnfd.several-charts"
	// DependencyCycle: MCIOPs depend on each other, so that none can be deployed first.
	DependencyCycle Code = "vnfd.dependency-cycle"
	// UnknownAspect: a scaling aspect that is named does not exist.
	UnknownAspect Code = "vnfd.unknown-aspect"
	// UnknownDelta: a delta named by a step does not exist. A warning.
	UnknownDelta Code = "vnfd.unknown-delta"
	// UnknownLevel: an instantiation level that is named does not exist.
	UnknownLevel Code = "vnfd.unknown-level"
	// DefaultLevel: the default level does not exist or, as a warning, there
	// are several levels and none is the default.
	DefaultLevel Code = "vnfd.default-level"
	// LevelAboveMax: a scale level is above the maximum of its aspect.
	LevelAboveMax Code = "vnfd.level-above-max"
	// LevelMismatch: an instantiation level gives another number of
	// instances than its scale levels do. A warning.
	LevelMismatch Code = "vnfd.level-mismatch"
	// OutsideProfile: a number of instances lies outside the VDU profile. A warning.
	OutsideProfile Code = "vnfd.outside-vdu-profile"
	// PackageChange: a policy for a change of the package names flavours or components that this VNFD lacks, or the change of another
	// policy. A warning for a policy that is for other VNFDs.
	PackageChange Code = "vnfd.package-change"
	// UnknownAction: a coordination action that is named does not exist.
	UnknownAction Code = "vnfd.unknown-action"
	// UnknownDriver: a hook names a driver that is no artifact of its node.
	UnknownDriver Code = "vnfd.unknown-driver"
	// Misplaced: something stands where SOL001 does not want it, and is read
	// nevertheless. A warning.
	Misplaced Code = "vnfd.misplaced"
)
