import {
  type StoredEvent,
  type EventData,
  type DeclaredOidc,
  type Oidc,
  type RealmClient,
  type RealmService,
  REALM_SERVICES_MAX,
  without,
} from '@fairlead/contracts';

/** The default role of a cluster's group, and of the users' group of its realm. */
export const DEFAULT_ACCESS_ROLE = 'cluster-admin';

/** The realm settings that a manifest requires. */
export interface RealmSelection {
  /** null: the first registered realm of the namespace. */
  readonly realm: string | null;
  readonly groupsClaim: string;
  /** Absent: none. */
  readonly services?: readonly RealmService[];
}

/** null: the manifest has its own issuer, or none. */
export const realmSelectionOf = (oidc: DeclaredOidc | undefined): RealmSelection | null =>
  oidc === undefined || oidc.issuerUrl !== undefined
    ? null
    : {
        realm: oidc.realm ?? null,
        groupsClaim: oidc.groupsClaim,
        ...(oidc.services === undefined ? {} : { services: oidc.services }),
      };

/** With the published services of the cluster; one that is declared by the same name counts. */
export const withPublished = (
  selection: RealmSelection | null,
  published: readonly RealmService[],
): RealmSelection | null => {
  if (selection === null || published.length === 0) return selection;
  const declared = selection.services ?? [];
  const others = published.filter(({ name }) => declared.every((service) => service.name !== name));
  const services = [...declared, ...others]
    .slice(0, REALM_SERVICES_MAX)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { ...selection, services };
};

/** A cluster's clients at identity providers. */
export interface ClusterIdentity {
  /** The last created client; absent: none. */
  readonly ready?: RealmClient;
  /** Clients that may exist, by realm. */
  readonly held: Readonly<Record<string, RealmClient>>;
  /** Why there is no progress, and since when; absent: not blocked. */
  readonly blocked?: Omit<EventData<'IdentityBlocked'>, 'uid'> & { readonly since: string };
}

export const NO_IDENTITY: ClusterIdentity = { held: {} };

const released = ({ blocked: _over, ready, held }: ClusterIdentity, realm: string): ClusterIdentity => ({
  ...(ready === undefined || ready.realm === realm ? {} : { ready }),
  held: without(held, realm),
});

export const identityAfter = (before: ClusterIdentity, event: StoredEvent): ClusterIdentity => {
  switch (event.type) {
    case 'IdentityBlocked': {
      const { uid: _uid, ...blocked } = event.data;
      return { ...before, blocked: { ...blocked, since: event.meta.time } };
    }
    case 'IdentityRequested': {
      const { uid: _uid, ...client } = event.data;
      return { ...before, held: { ...before.held, [client.realm]: client } };
    }
    case 'IdentityReady': {
      const { uid: _uid, ...ready } = event.data;
      return { held: { ...before.held, [ready.realm]: ready }, ready };
    }
    case 'IdentityReleased':
      return released(before, event.data.realm);
    default:
      return before;
  }
};

/** Clears the block: the changed manifest has not been tried yet. */
export const withoutBlock = ({ blocked: _former, ...identity }: ClusterIdentity): ClusterIdentity => identity;

/** The client at the selected realm; undefined: not created yet. */
export const clientFor = ({ ready }: ClusterIdentity, selection: RealmSelection): RealmClient | undefined =>
  ready !== undefined &&
  (selection.realm === null || selection.realm === ready.realm) &&
  selection.groupsClaim === ready.groupsClaim
    ? ready
    : undefined;

/** Whether a cluster waits for its client at a realm. */
export const isIdentityAwaited = (identity: ClusterIdentity, selection: RealmSelection | null): boolean =>
  selection !== null && clientFor(identity, selection) === undefined;

/** Rows have their keys in the order of the database. */
const servicesText = (services: readonly RealmService[] = []): string =>
  services.map(({ name, url }) => `${name} ${url}`).join();

const sameServices = (one?: readonly RealmService[], other?: readonly RealmService[]): boolean =>
  servicesText(one) === servicesText(other);

/** Whether the realm has everything that is selected: also the services, for which no machine waits. */
export const isIdentityCurrent = (identity: ClusterIdentity, selection: RealmSelection): boolean =>
  sameServices(clientFor(identity, selection)?.services, selection.services) && !isIdentityAwaited(identity, selection);

type Bindings = NonNullable<Oidc['roleBindings']>;

/** Binds a group to its role, in addition to other groups. */
const withAccess = (bindings: Bindings, clusterRole: string, group: string): Bindings => {
  const same = bindings.find((binding) => binding.clusterRole === clusterRole);
  const groups = [...new Set([...(same?.groups ?? []), group])].toSorted();
  return [...bindings.filter((binding) => binding !== same), { clusterRole, groups }].toSorted((a, b) =>
    a.clusterRole < b.clusterRole ? -1 : 1,
  );
};

/**
 * How users sign in: the declared settings, with issuer, client and group from the realm. undefined: not configured, or
 * not known yet.
 */
export const effectiveOidc = (declared: DeclaredOidc | undefined, identity: ClusterIdentity): Oidc | undefined => {
  if (declared === undefined) return undefined;
  const { realm: _realm, services: _services, accessRole = DEFAULT_ACCESS_ROLE, ...others } = declared;
  const { issuerUrl, clientId, ...rules } = others;
  if (issuerUrl !== undefined && clientId !== undefined) return { issuerUrl, clientId, ...rules };
  const selection = realmSelectionOf(declared);
  const client = selection === null ? undefined : clientFor(identity, selection);
  if (client === undefined) return undefined;
  const groups = [client.group, ...(client.usersGroup === undefined ? [] : [client.usersGroup])];
  return {
    issuerUrl: client.issuerUrl,
    clientId: client.clientId,
    ...rules,
    ...(client.ca === undefined ? {} : { ca: client.ca }),
    roleBindings: groups.reduce(
      (bindings: Bindings, group) => withAccess(bindings, accessRole, group),
      rules.roleBindings ?? [],
    ),
  };
};
