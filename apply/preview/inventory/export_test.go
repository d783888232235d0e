package inventory

// Carrying makes a node carry what pools want, as the controller writes it.
var Carrying = carrying
