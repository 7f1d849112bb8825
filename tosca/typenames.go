package tosca

// Types of SOL001 and of the TOSCA Simple Profile from which the model is built. Types that a package defines are derived from
// these.
const (
	typeNS              = "tosca.nodes.nfv.NS"
	typePNF             = "tosca.nodes.nfv.PNF"
	typeVNF             = "tosca.nodes.nfv.VNF"
	typeVDU             = "tosca.nodes.nfv.Vdu.Compute"
	typeContainerVDU    = "tosca.nodes.nfv.Vdu.OsContainerDeployableUnit"
	typeContainer       = "tosca.nodes.nfv.Vdu.OsContainer"
	typeMCIOP           = "tosca.nodes.nfv.Mciop"
	typeVirtualCp       = "tosca.nodes.nfv.VirtualCp"
	typeVipCp           = "tosca.nodes.nfv.VipCp"
	typeHelmChart       = "tosca.artifacts.nfv.HelmChart"
	typeIndicator       = "tosca.policies.nfv.VnfIndicator"
	typeVduCp           = "tosca.nodes.nfv.VduCp"
	typeExtCp           = "tosca.nodes.nfv.VnfExtCp"
	typeVirtualLink     = "tosca.nodes.nfv.VnfVirtualLink"
	typeBlockStorage    = "tosca.nodes.nfv.Vdu.VirtualBlockStorage"
	typeObjectStorage   = "tosca.nodes.nfv.Vdu.VirtualObjectStorage"
	typeFileStorage     = "tosca.nodes.nfv.Vdu.VirtualFileStorage"
	typeImplementation  = "tosca.artifacts.Implementation"
	typeSwImage         = "tosca.artifacts.nfv.SwImage"
	typeScalingAspects  = "tosca.policies.nfv.ScalingAspects"
	typeInitialDelta    = "tosca.policies.nfv.VduInitialDelta"
	typeAspectDeltas    = "tosca.policies.nfv.VduScalingAspectDeltas"
	typeLevels          = "tosca.policies.nfv.InstantiationLevels"
	typeVduLevels       = "tosca.policies.nfv.VduInstantiationLevels"
	typeAffinity        = "tosca.policies.nfv.AffinityRule"
	typeAntiAffinity    = "tosca.policies.nfv.AntiAffinityRule"
	typePlacementGroup  = "tosca.groups.nfv.PlacementGroup"
	typeVnflcmInterface = "tosca.interfaces.nfv.Vnflcm"
)
