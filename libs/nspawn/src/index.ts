export { Hosts, type Host, type HostStatus, type WantedHost } from './hosts/hosts.js';
export { addressPlanOf, HOST_RANGE } from './network/addresses.rules.js';
export { Networks, type HostNetwork } from './network/network.js';
export { obstacles } from './machine/requirements.js';
export { machineIsUnified } from './machine/cgroups.js';
export { defaultMirror, hostsCache, realPlaces, type Places } from './places.js';
export { ensureRootfs, hasRootfs, type RootLayers } from './rootfs/rootfs.js';
