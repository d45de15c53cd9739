import type { DeclaredSpec, EventData, NodeName, Oidc, StoredEvent } from '@fairlead/contracts';
import type { Cluster, UserAuthentication } from './bootstrap.state.js';

const NOTHING: UserAuthentication = { revision: 0, authorized: 0, roles: [] };

/** Which declaration of how users sign in counts now; 0: there was none. */
export const authenticationRevision = ({ authentication = NOTHING }: Cluster): number => authentication.revision;

/** Whether groups have the roles that are declared now. */
export const areUsersAuthorized = ({ authentication = NOTHING }: Cluster): boolean =>
  authentication.authorized === authentication.revision;

type Bindings = EventData<'UsersAuthorized'>['roleBindings'];

/** Which groups must have which roles; roles that they must not have any longer have no groups. */
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

const declared = (cluster: Cluster, { authentication }: DeclaredSpec): Cluster =>
  withOidc(cluster, authentication?.oidc);

const hasRead = (cluster: Cluster, node: NodeName, authentication: number | undefined): Cluster => {
  const host = cluster.hosts[node];
  if (host === undefined || authentication === undefined) return cluster;
  return { ...cluster, hosts: { ...cluster.hosts, [node]: { ...host, authentication } } };
};

const authorized = (cluster: Cluster, { authentication: by, roleBindings }: EventData<'UsersAuthorized'>): Cluster => {
  const roles = roleBindings.filter(({ groups }) => groups.length > 0).map(({ clusterRole }) => clusterRole);
  return { ...cluster, authentication: { ...(cluster.authentication ?? NOTHING), authorized: by, roles } };
};

/** What an event changes in how users sign in. */
export const evolveAuthentication = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return declared(cluster, event.data.spec);
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
    default:
      return cluster;
  }
};
