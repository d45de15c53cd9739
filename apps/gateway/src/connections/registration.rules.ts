import { refuse, SshSettings, type Refusal } from '@fairlead/contracts';
import { sameJson } from '../common/json.js';

/** What is said of a connection when it is registered. */
export interface Place {
  readonly provider: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Who stands on a connection now. */
export interface Users {
  /** `<namespace>/<cluster>` */
  readonly usedBy: readonly string[];
  /** Hosts of its inventory that clusters have. */
  readonly hostsInUse: readonly string[];
}

/** Settings that say where a provider keeps its machines. Hosts of an inventory are kept by name, and looked at apart. */
const WHERE: Readonly<Record<string, readonly string[]>> = {
  lab: ['endpoint'],
  nspawn: ['stateDir', 'networkCidr'],
};

const elsewhere = (before: Place, after: Place): readonly string[] =>
  (WHERE[before.provider] ?? []).filter((name) => !sameJson(before.settings[name], after.settings[name]));

const hostNames = ({ settings }: Place): readonly string[] => {
  const parsed = SshSettings.safeParse(settings);
  return parsed.success ? parsed.data.hosts.map(({ name }) => name) : [];
};

/** What would put machines out of reach; empty: nothing. `moved`: the same machines are found at the new place. */
const lost = (before: Place, after: Place, { hostsInUse }: Users, moved: boolean): readonly string[] => {
  if (before.provider !== after.provider) return ['provider'];
  const kept = new Set(hostNames(after));
  const hosts = hostsInUse.filter((host) => before.provider === 'ssh' && !kept.has(host));
  return [
    ...(moved ? [] : elsewhere(before, after).map((name) => `settings.${name}`)),
    ...hosts.map((host) => `settings.hosts (${host} is in use)`),
  ];
};

/** Why a connection cannot be replaced by this one while clusters stand on it. */
export const orphaning = (
  connection: string,
  change: { readonly before: Place; readonly after: Place; readonly moved: boolean },
  users: Users,
): Refusal | undefined => {
  const changed = lost(change.before, change.after, users, change.moved);
  const [first] = changed;
  if (first === undefined || (users.usedBy.length === 0 && users.hostsInUse.length === 0)) return undefined;
  const clusters = users.usedBy.length === 0 ? 'clusters that are being deleted' : users.usedBy.join(', ');
  const values = { connection, clusters, changed: changed.join(', ') };
  return refuse('connection.would-orphan', values, first.split(' ')[0]);
};
