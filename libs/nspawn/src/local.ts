import { Balancers } from './balancers/balancers.js';
import { Hosts, tagOfHost } from './hosts/hosts.js';
import { leftovers, type Leftover } from './leftovers.js';
import { deviceOf, namespaceOf, Networks } from './network/network.js';
import { realPlaces, type Places } from './places.js';

/** The networks, hosts and balancers of one state folder. */
export interface Local {
  readonly places: Places;
  readonly networks: Networks;
  readonly hosts: Hosts;
  readonly balancers: Balancers;
  /** Restores what was running: networks, hosts that had power, load balancers. */
  resume(): Promise<void>;
  /** Shuts everything down and leaves only files: `resume` restores it. */
  suspend(): Promise<void>;
  /** Deletes everything of the state folder: hosts, load balancers, networks. */
  clear(): Promise<void>;
  /** Leftovers found by inspecting the machine. `of`: networks and hosts that are no longer recorded. */
  leftovers(of?: {
    readonly networks?: readonly string[];
    readonly hosts?: readonly string[];
  }): Promise<readonly Leftover[]>;
}

/** Throws a ExternalFailure if these folders are unsuitable for hosts. */
export const openLocal = (desired: Places): Local => {
  const places = realPlaces(desired);
  const { stateDir } = places;
  const networks = new Networks(stateDir);
  const hosts = new Hosts(places, networks);
  const balancers = new Balancers(stateDir, networks);
  return {
    places,
    networks,
    hosts,
    balancers,
    resume: async () => {
      for (const { name, cidr } of networks.all()) await networks.ensure(name, cidr);
      await Promise.all([hosts.resume(), balancers.resume()]);
    },
    suspend: async () => {
      await Promise.all([hosts.suspend(), balancers.suspend()]);
      for (const { name } of networks.all()) await networks.takeDown(name);
    },
    clear: async () => {
      await Promise.all(hosts.all().map(({ name }) => hosts.delete(name)));
      await Promise.all(balancers.all().map(({ name }) => balancers.delete(name)));
      for (const { name } of networks.all()) await networks.remove(name);
    },
    leftovers: (of = {}) => {
      const networkNames = [...networks.all().map(({ name }) => name), ...(of.networks ?? [])];
      const hostNames = [...hosts.all().map(({ name }) => name), ...(of.hosts ?? [])];
      return leftovers({
        stateDir,
        groupPrefix: hosts.groupPrefix(),
        namespaces: networkNames.map((name) => namespaceOf(stateDir, name)),
        devices: networkNames.map((name) => deviceOf(stateDir, name)),
        hostTags: hostNames.map((name) => tagOfHost(stateDir, name)),
      });
    },
  };
};
