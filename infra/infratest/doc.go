// Package infratest tests an infrastructure driver against the rules of vnflcm.InfraDriver. The tests run a VNF manager with the driver
// on a VIM of the author, real or simulated:
//
//	func TestDriver(t *testing.T) {
//		infratest.Run(t, infratest.Setup{Open: func(t testing.TB) infratest.World {
//			return infratest.World{VIM: newMyVIM(t), Driver: newMyDriver, Machines: machines}
//		}})
//	}
//
// Run takes VNFs through their lives, repeats every method, kills the process at every step and between the changes of the VIM, cancels
// operations, and has steps panic. After each operation the VIM must have exactly the machines that the driver reports, those of another
// VNF, and foreign ones. docs/first-infra.md writes a driver and its test from the beginning.
package infratest
