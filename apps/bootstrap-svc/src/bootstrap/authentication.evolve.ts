import type { DeclaredOidc, EventData, NodeName, Oidc, StoredEvent } from '@fairlead/contracts';
import { effectiveOidc, identityAfter, isIdentityAwaited, NO_IDENTITY, realmSelectionOf } from '@fairlead/domain';
import type { Cluster, UserAuthentication } from './bootstrap.state.js';
import { servesSnapshot } from './restored.evolve.js';

const NOTHING: UserAuthentication = { revision: 0, authorized: 0, roles: [] };

/** The current revision of the authentication settings; 0: none was declared. */
export const authenticationRevision = ({ authentication = NOTHING }: Cluster): number => authentication.revision;

/** Whether groups have the currently declared roles. */
export const areUsersAuthorized = ({ authentication = NOTHING }: Cluster): boolean =>
  authentication.authorized === authentication.revision;

type Bindings = EventData<'UsersAuthorized'>['roleBindings'];

/** The groups of each role; roles that are no longer declared have no groups. */
export const desiredBindings = ({ authentication = NOTHING }: Cluster): Bindings => {
  const declared = authentication.oidc?.roleBindings ?? [];
  const names = new Set(declared.map(({ clusterRole }) => clusterRole));
  const obsolete = authentication.roles.filter((clusterRole) => !names.has(clusterRole));
  return [...declared, ...obsolete.map((clusterRole) => ({ clusterRole, groups: [] }))];
};

const withOidc = (cluster: Cluster, oidc: Oidc | undefined): Cluster => {
  const before = cluster.authentication ?? NOTHING;
  if (JSON.stringify(before.oidc) === JSON.stringify(oidc)) return cluster;
  const { oidc: _former, ...kept } = before;
  const authentication = { ...kept, revision: before.revision + 1, ...(oidc === undefined ? {} : { oidc }) };
  return { ...cluster, authentication };
};

/** API servers keep their settings until the client at the realm exists. */
const resolved = (cluster: Cluster): Cluster => {
  const { declared, identity = NO_IDENTITY } = cluster.authentication ?? NOTHING;
  if (isIdentityAwaited(identity, realmSelectionOf(declared))) return cluster;
  return withOidc(cluster, effectiveOidc(declared, identity));
};

const redeclared = (cluster: Cluster, declared: DeclaredOidc | undefined): Cluster => {
  const { declared: former, ...kept } = cluster.authentication ?? NOTHING;
  if (declared === undefined && former === undefined) return cluster;
  return resolved({ ...cluster, authentication: { ...kept, ...(declared === undefined ? {} : { declared }) } });
};

const identified = (cluster: Cluster, event: StoredEvent): Cluster => {
  const authentication = cluster.authentication ?? NOTHING;
  const before = authentication.identity ?? NO_IDENTITY;
  const identity = identityAfter(before, event);
  return identity === before ? cluster : resolved({ ...cluster, authentication: { ...authentication, identity } });
};

const hasRead = (cluster: Cluster, node: NodeName, authentication: number | undefined): Cluster => {
  const host = cluster.hosts[node];
  if (host === undefined || authentication === undefined) return cluster;
  return { ...cluster, hosts: { ...cluster.hosts, [node]: { ...host, authentication } } };
};

const authorized = (cluster: Cluster, { authentication: by, roleBindings }: EventData<'UsersAuthorized'>): Cluster => {
  const before = cluster.authentication ?? NOTHING;
  const roles = roleBindings.filter(({ groups }) => groups.length > 0).map(({ clusterRole }) => clusterRole);
  const formerRoles = [...new Set([...(before.formerRoles ?? []), ...roles])];
  return { ...cluster, authentication: { ...before, authorized: by, roles, formerRoles } };
};

/** Not a declared revision: groups have the roles of the snapshot. */
const UNKNOWN_REVISION = -1;

/** Groups may have any of their former roles again. */
const restored = (cluster: Cluster): Cluster => {
  const { authentication } = cluster;
  if (authentication === undefined) return cluster;
  const roles = authentication.formerRoles ?? authentication.roles;
  return { ...cluster, authentication: { ...authentication, authorized: UNKNOWN_REVISION, roles } };
};

/** Applies an event to the authentication settings. */
export const evolveAuthentication = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return redeclared(cluster, event.data.spec.authentication?.oidc);
    case 'ControlPlaneInitialized': {
      const { node, authentication } = event.data;
      const after = hasRead(cluster, node, authentication);
      return authentication === undefined ? after : { ...after, authenticationFile: true };
    }
    case 'ControlPlaneJoined':
    case 'AuthenticationConfigured':
      return hasRead(cluster, event.data.node, event.data.authentication);
    case 'UsersAuthorized':
      return authorized(cluster, event.data);
    case 'EtcdRestoreAdvanced':
      return servesSnapshot(event) ? restored(cluster) : cluster;
    default:
      return identified(cluster, event);
  }
};
