import { inventoryOf, type SshSettings, type StoredEvent } from '@fairlead/contracts';

/** An SSH server of an `ssh` connection: an inventory host by name, or the jump host by address (`host` null). */
export interface SshServer {
  readonly host: string | null;
  /** `<address>:<port>` */
  readonly address: string;
}

/** Why a host key is trusted: the settings pin it, an administrator accepted it, or it was the first one seen. */
export type HostKeySource = 'settings' | 'accepted' | 'first-seen';

export interface KnownHostKey {
  /** `SHA256:<base64>` */
  readonly fingerprint: string;
  readonly source: HostKeySource;
}

type Keys = ReadonlyMap<string, string>;

/** Known host keys of one connection, by server. */
interface ConnectionKeys {
  readonly settings: Keys;
  readonly accepted: Keys;
  readonly firstSeen: Keys;
}

/** Host keys of all `ssh` connections, by connection name. */
export type HostKeys = ReadonlyMap<string, ConnectionKeys>;

export const NO_HOST_KEYS: HostKeys = new Map();

const NONE_KNOWN: ConnectionKeys = { settings: new Map(), accepted: new Map(), firstSeen: new Map() };

/** Matches pinned keys; the gateway's facts about connections match REGISTERED_FILTER. */
export const HOST_KEYS_PINNED_FILTER = 'evt.*._._.*.HostKeyPinned';

/** A host keeps its key when its address changes; a jump host with another address is another server. */
export const sshServerId = ({ host, address }: SshServer): string =>
  host === null ? `jump/${address.toLowerCase()}` : `host/${host}`;

export const sshAddress = ({ address, port }: { readonly address: string; readonly port: number }): string =>
  `${address}:${port}`;

/** The keys that a connection's settings pin. */
export const settingsHostKeys = ({ hosts, jump }: Pick<SshSettings, 'hosts' | 'jump'>): Keys => {
  const servers = [
    ...hosts.map((host) => ({ id: sshServerId({ host: host.name, address: sshAddress(host) }), key: host.hostKey })),
    ...(jump === undefined ? [] : [{ id: sshServerId({ host: null, address: sshAddress(jump) }), key: jump.hostKey }]),
  ];
  return new Map(servers.flatMap(({ id, key }) => (key === undefined ? [] : [[id, key] as const])));
};

const changed = (before: HostKeys, connection: string, part: Partial<ConnectionKeys>): HostKeys =>
  new Map(before).set(connection, { ...(before.get(connection) ?? NONE_KNOWN), ...part });

/** The keys after an event. They outlive the removal of their connection: its clusters still use them. */
export const hostKeysAfter = (before: HostKeys, event: StoredEvent): HostKeys => {
  switch (event.type) {
    case 'ConnectionRegistered': {
      const { name } = event.data;
      const inventory = inventoryOf(event.data);
      const named: Keys = inventory === undefined ? new Map() : settingsHostKeys(inventory);
      return named.size === 0 && !before.has(name) ? before : changed(before, name, { settings: named });
    }
    case 'HostKeyAccepted': {
      const { name, hostKey, ...server } = event.data;
      const accepted = new Map(before.get(name)?.accepted).set(sshServerId(server), hostKey);
      return changed(before, name, { accepted });
    }
    case 'HostKeyPinned': {
      const { connection, hostKey, ...server } = event.data;
      const known = before.get(connection)?.firstSeen;
      if (known?.has(sshServerId(server)) === true) return before;
      return changed(before, connection, { firstSeen: new Map(known).set(sshServerId(server), hostKey) });
    }
    default:
      return before;
  }
};

/** The required key of a server; undefined: unknown, and the first one seen will be pinned. */
export const knownHostKey = (keys: HostKeys, connection: string, server: SshServer): KnownHostKey | undefined => {
  const known = keys.get(connection) ?? NONE_KNOWN;
  const id = sshServerId(server);
  const candidates = [
    { fingerprint: known.settings.get(id), source: 'settings' },
    { fingerprint: known.accepted.get(id), source: 'accepted' },
    { fingerprint: known.firstSeen.get(id), source: 'first-seen' },
  ] as const;
  const found = candidates.find(({ fingerprint }) => fingerprint !== undefined);
  return found?.fingerprint === undefined ? undefined : { fingerprint: found.fingerprint, source: found.source };
};
