// Package jumphost reads the jump host of a VIM (attribute extra.jump_host of a vimConnectionInfo), for all drivers that
// reach machines or APIs through it.
package jumphost
