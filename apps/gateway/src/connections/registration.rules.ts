import { inventoryOf, isOwnSecret, powerSecretsOf, refuse, traitsOf, type Refusal } from '@fairlead/contracts';
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

const elsewhere = (before: Place, after: Place): readonly string[] =>
  traitsOf(before.provider).location.filter((name) => !sameJson(before.settings[name], after.settings[name]));

const hostNames = (place: Place): readonly string[] => inventoryOf(place)?.hosts.map(({ name }) => name) ?? [];

/** What would put machines out of reach; empty: nothing. `moved`: the same machines are found at the new place. */
const lost = (before: Place, after: Place, { hostsInUse }: Users, moved: boolean): readonly string[] => {
  if (before.provider !== after.provider) return ['provider'];
  const kept = new Set(hostNames(after));
  const hosts = traitsOf(before.provider).hasInventory ? hostsInUse.filter((host) => !kept.has(host)) : [];
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

interface Hop {
  readonly field: string;
  /** The setting that names the key, below `field`. */
  readonly refField?: string;
  readonly address: string;
  readonly keyRef: string | undefined;
}

/** Where credentials are used, and which: of the connection itself where no other is named. */
const hopsOf = (place: Place): readonly Hop[] => {
  const { credentialAddress } = traitsOf(place.provider);
  if (credentialAddress !== undefined) {
    const address = String(place.settings[credentialAddress]);
    return [{ field: `settings.${credentialAddress}`, address, keyRef: undefined }];
  }
  const inventory = inventoryOf(place);
  if (inventory === undefined) return [];
  const { hosts, jump } = inventory;
  const at = ({ address, port }: { readonly address: string; readonly port: number }) => `${address}:${port}`;
  return [
    ...hosts.map((host, index) => ({ field: `settings.hosts[${index}]`, address: at(host), keyRef: host.keyRef })),
    ...hosts.flatMap(({ power }, index) =>
      (power === undefined ? [] : powerSecretsOf(power)).map(({ field: refField, address, ref }) => ({
        ...{ field: `settings.hosts[${index}]`, refField, address, keyRef: ref },
      })),
    ),
    ...(jump === undefined ? [] : [{ field: 'settings.jump', address: at(jump), keyRef: jump.keyRef }]),
  ];
};

/** References to secrets of another connection, or of anything else: whoever may name them may use them. */
export const foreignKeys = (connection: string, place: Place): readonly Refusal[] =>
  hopsOf(place).flatMap(({ field, refField = 'keyRef', keyRef }) => {
    if (keyRef === undefined || isOwnSecret(connection, keyRef)) return [];
    const named = `${field}.${refField}`;
    return [refuse('connection.key-foreign', { connection, field: named }, named)];
  });

/** Which of the connection's own keys its settings name. */
export const keyRefsOf = (place: Place): readonly string[] => [
  ...new Set(hopsOf(place).flatMap(({ keyRef }) => keyRef ?? [])),
];

/** Why a stored credential is not used at an address that it was not given for: only who has it may say so. */
export const secretMissing = (
  connection: string,
  change: { readonly before: Place & { readonly secretRef: string | null }; readonly after: Place },
  given: { readonly secret: boolean; readonly keys: ReadonlySet<string> },
): Refusal | undefined => {
  const { before, after } = change;
  const use = ({ address, keyRef }: Hop): string => `${keyRef ?? before.secretRef ?? ''} ${address}`;
  const known = new Set(before.provider === after.provider ? hopsOf(before).map(use) : []);
  const fresh = hopsOf(after).filter((hop) => !known.has(use(hop)));
  const missing = fresh.find(({ keyRef }) =>
    keyRef === undefined || keyRef === before.secretRef
      ? before.secretRef !== null && !given.secret
      : !given.keys.has(keyRef),
  );
  if (missing !== undefined)
    return refuse('connection.secret-again', { connection, address: missing.address }, missing.field);
  const other = before.provider !== after.provider && before.secretRef !== null && !given.secret;
  return other ? refuse('connection.secret-again', { connection, address: after.provider }, 'provider') : undefined;
};
