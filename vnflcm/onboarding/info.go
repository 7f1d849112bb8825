package onboarding

import (
	"time"

	"github.com/vnfkit/vnfkit/tosca/problem"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// State is the onboardingState of a package (SOL003 v3.3.1 10.5.2.2).
type State string

// The onboarding states.
const (
	Created    State = "CREATED"
	Uploading  State = "UPLOADING"
	Processing State = "PROCESSING"
	Onboarded  State = "ONBOARDED"
	Failed     State = "ERROR" // version 1 of the API has no such state
)

// OperationalState says whether instances can be created from a package.
type OperationalState string

// The operational states. A package that is not ONBOARDED is DISABLED.
const (
	Enabled  OperationalState = "ENABLED"
	Disabled OperationalState = "DISABLED"
)

// UsageState says whether a package has instances.
type UsageState string

// The usage states.
const (
	InUse    UsageState = "IN_USE"
	NotInUse UsageState = "NOT_IN_USE"
)

// VnfPkgInfo describes a package (SOL003 v2.6.1 and v3.3.1 10.5.2.2). What comes from the VNFD and the content is set once the package is
// ONBOARDED.
type VnfPkgInfo struct {
	ID                             string           `json:"id"`
	VnfdID                         string           `json:"vnfdId,omitempty"`
	VnfProvider                    string           `json:"vnfProvider,omitempty"`
	VnfProductName                 string           `json:"vnfProductName,omitempty"`
	VnfSoftwareVersion             string           `json:"vnfSoftwareVersion,omitempty"`
	VnfdVersion                    string           `json:"vnfdVersion,omitempty"`
	CompatibleSpecificationVersion []string         `json:"compatibleSpecificationVersions,omitempty"`
	Checksum                       *Checksum        `json:"checksum,omitempty"` // of the content as it was uploaded
	PackageSecurityOption          string           `json:"packageSecurityOption,omitempty"`
	SigningCertificate             string           `json:"signingCertificate,omitempty"` // PEM
	SoftwareImages                 []SoftwareImage  `json:"softwareImages,omitempty"`
	AdditionalArtifacts            []Artifact       `json:"additionalArtifacts,omitempty"`
	OnboardingState                State            `json:"onboardingState"`
	OperationalState               OperationalState `json:"operationalState"`
	UsageState                     UsageState       `json:"usageState"`
	// VnfmInfo is vnfm_info of the VNFD.
	VnfmInfo        []string             `json:"vnfmInfo,omitempty"`
	UserDefinedData vnflcm.KeyValuePairs `json:"userDefinedData,omitempty"`
	// OnboardingFailureDetails is set in the state ERROR.
	OnboardingFailureDetails *FailureDetails `json:"onboardingFailureDetails,omitempty"`

	Tenant string `json:"-"` // "" if all tenants may use the package
	// Version changes with every change of the package, except that of UsageState: the ETag of an HTTP API.
	Version string `json:"-"`
	// Size of the content in bytes.
	Size int64 `json:"-"`
}

// Checksum of a package or of a file in it (SOL013 v2.6.1 7.1.6).
type Checksum struct {
	Algorithm string `json:"algorithm"` // SHA-256, SHA-512
	Hash      string `json:"hash"`      // hexadecimal
}

// SoftwareImage is an image in a package, or one that the package names (SOL003 v3.3.1 10.5.3.2).
type SoftwareImage struct {
	ID              string            `json:"id"` // of the VDU, storage or container
	Name            string            `json:"name"`
	Provider        string            `json:"provider"`
	Version         string            `json:"version"`
	Checksum        Checksum          `json:"checksum"`
	IsEncrypted     bool              `json:"isEncrypted"`
	ContainerFormat string            `json:"containerFormat"` // BARE, or DOCKER for a container, if the VNFD has none that SOL003 knows
	DiskFormat      string            `json:"diskFormat"`      // that of the file name, else RAW, if the VNFD has none that SOL003 knows
	CreatedAt       time.Time         `json:"createdAt"`       // when the package was onboarded
	MinDisk         int64             `json:"minDisk"`         // bytes
	MinRAM          int64             `json:"minRam"`          // bytes
	Size            int64             `json:"size"`            // bytes
	UserMetadata    map[string]string `json:"userMetadata,omitempty"`
	ImagePath       string            `json:"imagePath,omitempty"` // in the package
	ImageURI        string            `json:"imageUri,omitempty"`  // outside of it
}

// Artifact is a file of a package that is neither an image nor a part of the VNFD (SOL003 v3.3.1 10.5.3.3).
type Artifact struct {
	ArtifactPath string   `json:"artifactPath"`
	ArtifactURI  []string `json:"artifactURI,omitempty"` // of an artifact outside of the package
	Checksum     Checksum `json:"checksum"`
	IsEncrypted  bool     `json:"isEncrypted"`
	// NonManoArtifactSetID is the set of an artifact that the VNFM does not use (SOL004 v2.6.1 4.3.7).
	NonManoArtifactSetID   string `json:"nonManoArtifactSetId,omitempty"`
	ArtifactClassification string `json:"artifactClassification,omitempty"` // HISTORY, TESTING, LICENSE
}

// FailureDetails say why a package is in the state ERROR: ProblemDetails (RFC 7807) with the faults that the check of the package has found.
type FailureDetails struct {
	Title  string `json:"title,omitempty"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Faults are all faults, warnings too, as csar-lint prints them: at most 1000, errors before warnings.
	Faults problem.List `json:"faults,omitempty"`
}

// Modification changes a package (SOL003 VnfPkgInfoModifications). Attributes that are not set stay.
type Modification struct {
	OperationalState OperationalState `json:"operationalState,omitempty"`
	// UserDefinedData are merged into the present ones (RFC 7396): a nil value removes its key.
	UserDefinedData vnflcm.KeyValuePairs `json:"userDefinedData,omitempty"`
}

// Address is where the content of a package is fetched from (SOL005 UploadVnfPackageFromUriRequest).
type Address struct {
	URI      string        `json:"addressInformation"` // https; http if Options.AllowHTTP
	User     string        `json:"userName,omitempty"` // of HTTP Basic authentication
	Password vnflcm.Secret `json:"password,omitzero"`
}
